# ruff: noqa
# mypy: ignore-errors
# fmt: off
"""Classes and codecs that every start needs, compiled with the package instead of while it starts.

Written by tools/write_start_codecs.py with the generators that make all others at run time; see compiler.py.
Each function returns what it defines, and runs with the globals that the compiler gives it. Beside a codec
stand the struct formats that its code calls S0, S1, ...
"""


def classes_ApiVersionsRequest():
    class ApiVersionsRequest(Message):
        __slots__ = ('client_software_name', 'client_software_version', 'cluster_id', 'node_id', 'unknown_tags')
        def __init__(self, *, client_software_name='', client_software_version='', cluster_id=None, node_id=-1, unknown_tags=None):
            self.client_software_name = client_software_name
            self.client_software_version = client_software_version
            self.cluster_id = cluster_id
            self.node_id = node_id
            self.unknown_tags = unknown_tags

    return locals()


def decode_ApiVersionsRequest_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(ApiVersionsRequest)
            o0.client_software_name = ''
            o0.client_software_version = ''
            o0.cluster_id = None
            o0.node_id = -1
            o0.unknown_tags = None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def decode_ApiVersionsRequest_3():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(ApiVersionsRequest)
            o0.cluster_id = None
            o0.node_id = -1
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.client_software_name = str(b[p : p + n], "utf-8")
            p += n
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.client_software_version = str(b[p : p + n], "utf-8")
            p += n
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def decode_ApiVersionsRequest_4():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(ApiVersionsRequest)
            o0.cluster_id = None
            o0.node_id = -1
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.client_software_name = str(b[p : p + n], "utf-8")
            p += n
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.client_software_version = str(b[p : p + n], "utf-8")
            p += n
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def classes_ApiVersionsResponse():
    class ApiVersionsResponse(Message):
        __slots__ = ('error_code', 'api_keys', 'throttle_time_ms', 'supported_features', 'finalized_features_epoch', 'finalized_features', 'zk_migration_ready', 'unknown_tags')
        def __init__(self, *, error_code=0, api_keys=UNSET, throttle_time_ms=0, supported_features=UNSET, finalized_features_epoch=-1, finalized_features=UNSET, zk_migration_ready=False, unknown_tags=None):
            self.error_code = error_code
            self.api_keys = [] if api_keys is UNSET else api_keys
            self.throttle_time_ms = throttle_time_ms
            self.supported_features = [] if supported_features is UNSET else supported_features
            self.finalized_features_epoch = finalized_features_epoch
            self.finalized_features = [] if finalized_features is UNSET else finalized_features
            self.zk_migration_ready = zk_migration_ready
            self.unknown_tags = unknown_tags

    class ApiVersionsResponseApiVersion(Struct):
        __slots__ = ('api_key', 'min_version', 'max_version', 'unknown_tags')
        def __init__(self, *, api_key=0, min_version=0, max_version=0, unknown_tags=None):
            self.api_key = api_key
            self.min_version = min_version
            self.max_version = max_version
            self.unknown_tags = unknown_tags

    class ApiVersionsResponseSupportedFeatureKey(Struct):
        __slots__ = ('name', 'min_version', 'max_version', 'unknown_tags')
        def __init__(self, *, name='', min_version=0, max_version=0, unknown_tags=None):
            self.name = name
            self.min_version = min_version
            self.max_version = max_version
            self.unknown_tags = unknown_tags

    class ApiVersionsResponseFinalizedFeatureKey(Struct):
        __slots__ = ('name', 'max_version_level', 'min_version_level', 'unknown_tags')
        def __init__(self, *, name='', max_version_level=0, min_version_level=0, unknown_tags=None):
            self.name = name
            self.max_version_level = max_version_level
            self.min_version_level = min_version_level
            self.unknown_tags = unknown_tags

    return locals()


def encode_ApiVersionsResponse_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            a1 = o0.api_keys
            w(S0_pack(o0.error_code, len(a1)))
            for o2 in a1:
                w(S1_pack(o2.api_key, o2.min_version, o2.max_version))
                if o2.unknown_tags:
                    no_tags()
            if o0.unknown_tags:
                no_tags()
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def encode_ApiVersionsResponse_3():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            a1 = o0.api_keys
            w(S0_pack(o0.error_code))
            n = len(a1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o2 in a1:
                w(S1_pack(o2.api_key, o2.min_version, o2.max_version))
                if o2.unknown_tags:
                    write_only_tags(w, o2.unknown_tags)
                else:
                    w(b'\0')
            w(S2_pack(o0.throttle_time_ms))
            if o0.unknown_tags or len(o0.supported_features) or o0.finalized_features_epoch != -1 or len(o0.finalized_features) or o0.zk_migration_ready:
                u3 = sorted_tags(o0.unknown_tags)
                k4 = 0
                c5 = len(u3)
                i6 = len(parts)
                w(b'')
                if len(o0.supported_features):
                    k4 = write_unknown_tags(w, u3, k4, 0)
                    c5 += 1
                    i7 = len(parts)
                    w(b'')
                    a8 = o0.supported_features
                    n = len(a8) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    for o9 in a8:
                        v10 = o9.name
                        v10 = v10.encode()
                        if len(v10) > 32767:
                            long_string(v10)
                        n = len(v10) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        w(v10)
                        w(S3_pack(o9.min_version, o9.max_version))
                        if o9.unknown_tags:
                            write_only_tags(w, o9.unknown_tags)
                        else:
                            w(b'\0')
                    parts[i7] = tag_head(0, parts, i7)
                if o0.finalized_features_epoch != -1:
                    k4 = write_unknown_tags(w, u3, k4, 1)
                    c5 += 1
                    i11 = len(parts)
                    w(b'')
                    w(S4_pack(o0.finalized_features_epoch))
                    parts[i11] = tag_head(1, parts, i11)
                if len(o0.finalized_features):
                    k4 = write_unknown_tags(w, u3, k4, 2)
                    c5 += 1
                    i12 = len(parts)
                    w(b'')
                    a13 = o0.finalized_features
                    n = len(a13) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    for o14 in a13:
                        v15 = o14.name
                        v15 = v15.encode()
                        if len(v15) > 32767:
                            long_string(v15)
                        n = len(v15) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        w(v15)
                        w(S3_pack(o14.max_version_level, o14.min_version_level))
                        if o14.unknown_tags:
                            write_only_tags(w, o14.unknown_tags)
                        else:
                            w(b'\0')
                    parts[i12] = tag_head(2, parts, i12)
                if o0.zk_migration_ready:
                    k4 = write_unknown_tags(w, u3, k4, 3)
                    c5 += 1
                    i16 = len(parts)
                    w(b'')
                    w(S5_pack(o0.zk_migration_ready))
                    parts[i16] = tag_head(3, parts, i16)
                write_unknown_tags(w, u3, k4, NO_TAG)
                parts[i6] = write_varint(c5)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def encode_ApiVersionsResponse_4():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            a1 = o0.api_keys
            w(S0_pack(o0.error_code))
            n = len(a1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o2 in a1:
                w(S1_pack(o2.api_key, o2.min_version, o2.max_version))
                if o2.unknown_tags:
                    write_only_tags(w, o2.unknown_tags)
                else:
                    w(b'\0')
            w(S2_pack(o0.throttle_time_ms))
            if o0.unknown_tags or len(o0.supported_features) or o0.finalized_features_epoch != -1 or len(o0.finalized_features) or o0.zk_migration_ready:
                u3 = sorted_tags(o0.unknown_tags)
                k4 = 0
                c5 = len(u3)
                i6 = len(parts)
                w(b'')
                if len(o0.supported_features):
                    k4 = write_unknown_tags(w, u3, k4, 0)
                    c5 += 1
                    i7 = len(parts)
                    w(b'')
                    a8 = o0.supported_features
                    n = len(a8) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    for o9 in a8:
                        v10 = o9.name
                        v10 = v10.encode()
                        if len(v10) > 32767:
                            long_string(v10)
                        n = len(v10) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        w(v10)
                        w(S3_pack(o9.min_version, o9.max_version))
                        if o9.unknown_tags:
                            write_only_tags(w, o9.unknown_tags)
                        else:
                            w(b'\0')
                    parts[i7] = tag_head(0, parts, i7)
                if o0.finalized_features_epoch != -1:
                    k4 = write_unknown_tags(w, u3, k4, 1)
                    c5 += 1
                    i11 = len(parts)
                    w(b'')
                    w(S4_pack(o0.finalized_features_epoch))
                    parts[i11] = tag_head(1, parts, i11)
                if len(o0.finalized_features):
                    k4 = write_unknown_tags(w, u3, k4, 2)
                    c5 += 1
                    i12 = len(parts)
                    w(b'')
                    a13 = o0.finalized_features
                    n = len(a13) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    for o14 in a13:
                        v15 = o14.name
                        v15 = v15.encode()
                        if len(v15) > 32767:
                            long_string(v15)
                        n = len(v15) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        w(v15)
                        w(S3_pack(o14.max_version_level, o14.min_version_level))
                        if o14.unknown_tags:
                            write_only_tags(w, o14.unknown_tags)
                        else:
                            w(b'\0')
                    parts[i12] = tag_head(2, parts, i12)
                if o0.zk_migration_ready:
                    k4 = write_unknown_tags(w, u3, k4, 3)
                    c5 += 1
                    i16 = len(parts)
                    w(b'')
                    w(S5_pack(o0.zk_migration_ready))
                    parts[i16] = tag_head(3, parts, i16)
                write_unknown_tags(w, u3, k4, NO_TAG)
                parts[i6] = write_varint(c5)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_BeginTransactionRecord():
    class BeginTransactionRecord(Message):
        __slots__ = ('name', 'unknown_tags')
        def __init__(self, *, name=None, unknown_tags=None):
            self.name = name
            self.unknown_tags = unknown_tags

    return locals()


def decode_BeginTransactionRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(BeginTransactionRecord)
            o0.name = None
            o0.unknown_tags = None
            n = b[p]
            p += 1
            if n > 127:
                n, p = read_varint(b, p - 1)
            if n:
                g -= n
                if n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                u1 = []
                for _ in range(n):
                    t2, p = read_varint(b, p)
                    n, p = read_varint(b, p)
                    if n > e - p:
                        bad_length(n, e - p)
                    q3 = p + n
                    if t2 == 0:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        if n == -1:
                            o0.name = None
                        else:
                            if n < 0 or n > e - p or n > 32767:
                                bad_length(n, e - p)
                            o0.name = str(b[p : p + n], "utf-8")
                            p += n
                        if p != q3:
                            bad_tag_size(p - q3)
                    else:
                        u1.append((t2, bytes(b[p:q3])))
                        p = q3
                o0.unknown_tags = u1 or None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_BeginTransactionRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if o0.unknown_tags or o0.name is not None:
                u1 = sorted_tags(o0.unknown_tags)
                k2 = 0
                c3 = len(u1)
                i4 = len(parts)
                w(b'')
                if o0.name is not None:
                    k2 = write_unknown_tags(w, u1, k2, 0)
                    c3 += 1
                    i5 = len(parts)
                    w(b'')
                    v6 = o0.name
                    if v6 is None:
                        w(b'\x00')
                    else:
                        v6 = v6.encode()
                        if len(v6) > 32767:
                            long_string(v6)
                        n = len(v6) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        w(v6)
                    parts[i5] = tag_head(0, parts, i5)
                write_unknown_tags(w, u1, k2, NO_TAG)
                parts[i4] = write_varint(c3)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_BrokerRegistrationChangeRecord():
    class BrokerRegistrationChangeRecord(Message):
        __slots__ = ('broker_id', 'broker_epoch', 'fenced', 'in_controlled_shutdown', 'log_dirs', 'cordoned_log_dirs', 'unknown_tags')
        def __init__(self, *, broker_id=0, broker_epoch=0, fenced=0, in_controlled_shutdown=0, log_dirs=UNSET, cordoned_log_dirs=None, unknown_tags=None):
            self.broker_id = broker_id
            self.broker_epoch = broker_epoch
            self.fenced = fenced
            self.in_controlled_shutdown = in_controlled_shutdown
            self.log_dirs = [] if log_dirs is UNSET else log_dirs
            self.cordoned_log_dirs = cordoned_log_dirs
            self.unknown_tags = unknown_tags

    return locals()


def decode_BrokerRegistrationChangeRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(BrokerRegistrationChangeRecord)
            o0.in_controlled_shutdown = 0
            o0.log_dirs = []
            o0.cordoned_log_dirs = None
            o0.broker_id, o0.broker_epoch = S0_unpack(b, p)
            p += 12
            o0.fenced = 0
            o0.unknown_tags = None
            n = b[p]
            p += 1
            if n > 127:
                n, p = read_varint(b, p - 1)
            if n:
                g -= n
                if n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                u1 = []
                for _ in range(n):
                    t2, p = read_varint(b, p)
                    n, p = read_varint(b, p)
                    if n > e - p:
                        bad_length(n, e - p)
                    q3 = p + n
                    if t2 == 0:
                        o0.fenced, = S1_unpack(b, p)
                        p += 1
                        if p != q3:
                            bad_tag_size(p - q3)
                    else:
                        u1.append((t2, bytes(b[p:q3])))
                        p = q3
                o0.unknown_tags = u1 or None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def decode_BrokerRegistrationChangeRecord_1():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(BrokerRegistrationChangeRecord)
            o0.log_dirs = []
            o0.cordoned_log_dirs = None
            o0.broker_id, o0.broker_epoch = S0_unpack(b, p)
            p += 12
            o0.fenced = 0
            o0.in_controlled_shutdown = 0
            o0.unknown_tags = None
            n = b[p]
            p += 1
            if n > 127:
                n, p = read_varint(b, p - 1)
            if n:
                g -= n
                if n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                u1 = []
                for _ in range(n):
                    t2, p = read_varint(b, p)
                    n, p = read_varint(b, p)
                    if n > e - p:
                        bad_length(n, e - p)
                    q3 = p + n
                    if t2 == 0:
                        o0.fenced, = S1_unpack(b, p)
                        p += 1
                        if p != q3:
                            bad_tag_size(p - q3)
                    elif t2 == 1:
                        o0.in_controlled_shutdown, = S1_unpack(b, p)
                        p += 1
                        if p != q3:
                            bad_tag_size(p - q3)
                    else:
                        u1.append((t2, bytes(b[p:q3])))
                        p = q3
                o0.unknown_tags = u1 or None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def decode_BrokerRegistrationChangeRecord_3():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(BrokerRegistrationChangeRecord)
            o0.broker_id, o0.broker_epoch = S0_unpack(b, p)
            p += 12
            o0.fenced = 0
            o0.in_controlled_shutdown = 0
            o0.log_dirs = []
            o0.cordoned_log_dirs = None
            o0.unknown_tags = None
            n = b[p]
            p += 1
            if n > 127:
                n, p = read_varint(b, p - 1)
            if n:
                g -= n
                if n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                u1 = []
                for _ in range(n):
                    t2, p = read_varint(b, p)
                    n, p = read_varint(b, p)
                    if n > e - p:
                        bad_length(n, e - p)
                    q3 = p + n
                    if t2 == 0:
                        o0.fenced, = S1_unpack(b, p)
                        p += 1
                        if p != q3:
                            bad_tag_size(p - q3)
                    elif t2 == 1:
                        o0.in_controlled_shutdown, = S1_unpack(b, p)
                        p += 1
                        if p != q3:
                            bad_tag_size(p - q3)
                    elif t2 == 2:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        g -= n
                        if n < 0 or n * 16 > e - p or g < 0:
                            bad_count(n, e - p, g)
                        o0.log_dirs = [bytes(b[q : q + 16]) for q in range(p, p + n * 16, 16)]
                        p += n * 16
                        if p != q3:
                            bad_tag_size(p - q3)
                    elif t2 == 3:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        if n == -1:
                            o0.cordoned_log_dirs = None
                        else:
                            g -= n
                            if n < 0 or n * 16 > e - p or g < 0:
                                bad_count(n, e - p, g)
                            o0.cordoned_log_dirs = [bytes(b[q : q + 16]) for q in range(p, p + n * 16, 16)]
                            p += n * 16
                        if p != q3:
                            bad_tag_size(p - q3)
                    else:
                        u1.append((t2, bytes(b[p:q3])))
                        p = q3
                o0.unknown_tags = u1 or None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_BrokerRegistrationChangeRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if o0.in_controlled_shutdown:
                not_in_version()
            if len(o0.log_dirs):
                not_in_version()
            if o0.cordoned_log_dirs is not None:
                not_in_version()
            w(S0_pack(o0.broker_id, o0.broker_epoch))
            if o0.unknown_tags or o0.fenced:
                u1 = sorted_tags(o0.unknown_tags)
                k2 = 0
                c3 = len(u1)
                i4 = len(parts)
                w(b'')
                if o0.fenced:
                    k2 = write_unknown_tags(w, u1, k2, 0)
                    c3 += 1
                    i5 = len(parts)
                    w(b'')
                    w(S1_pack(o0.fenced))
                    parts[i5] = tag_head(0, parts, i5)
                write_unknown_tags(w, u1, k2, NO_TAG)
                parts[i4] = write_varint(c3)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def encode_BrokerRegistrationChangeRecord_1():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if len(o0.log_dirs):
                not_in_version()
            if o0.cordoned_log_dirs is not None:
                not_in_version()
            w(S0_pack(o0.broker_id, o0.broker_epoch))
            if o0.unknown_tags or o0.fenced or o0.in_controlled_shutdown:
                u1 = sorted_tags(o0.unknown_tags)
                k2 = 0
                c3 = len(u1)
                i4 = len(parts)
                w(b'')
                if o0.fenced:
                    k2 = write_unknown_tags(w, u1, k2, 0)
                    c3 += 1
                    i5 = len(parts)
                    w(b'')
                    w(S1_pack(o0.fenced))
                    parts[i5] = tag_head(0, parts, i5)
                if o0.in_controlled_shutdown:
                    k2 = write_unknown_tags(w, u1, k2, 1)
                    c3 += 1
                    i6 = len(parts)
                    w(b'')
                    w(S1_pack(o0.in_controlled_shutdown))
                    parts[i6] = tag_head(1, parts, i6)
                write_unknown_tags(w, u1, k2, NO_TAG)
                parts[i4] = write_varint(c3)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def encode_BrokerRegistrationChangeRecord_3():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            w(S0_pack(o0.broker_id, o0.broker_epoch))
            if o0.unknown_tags or o0.fenced or o0.in_controlled_shutdown or len(o0.log_dirs) or o0.cordoned_log_dirs is not None:
                u1 = sorted_tags(o0.unknown_tags)
                k2 = 0
                c3 = len(u1)
                i4 = len(parts)
                w(b'')
                if o0.fenced:
                    k2 = write_unknown_tags(w, u1, k2, 0)
                    c3 += 1
                    i5 = len(parts)
                    w(b'')
                    w(S1_pack(o0.fenced))
                    parts[i5] = tag_head(0, parts, i5)
                if o0.in_controlled_shutdown:
                    k2 = write_unknown_tags(w, u1, k2, 1)
                    c3 += 1
                    i6 = len(parts)
                    w(b'')
                    w(S1_pack(o0.in_controlled_shutdown))
                    parts[i6] = tag_head(1, parts, i6)
                if len(o0.log_dirs):
                    k2 = write_unknown_tags(w, u1, k2, 2)
                    c3 += 1
                    i7 = len(parts)
                    w(b'')
                    a8 = o0.log_dirs
                    n = len(a8) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    for o9 in a8:
                        v10 = o9
                        if len(v10) != 16:
                            bad_uuid()
                        w(S2_pack(v10))
                    parts[i7] = tag_head(2, parts, i7)
                if o0.cordoned_log_dirs is not None:
                    k2 = write_unknown_tags(w, u1, k2, 3)
                    c3 += 1
                    i11 = len(parts)
                    w(b'')
                    a12 = o0.cordoned_log_dirs
                    if a12 is None:
                        w(b'\x00')
                    else:
                        n = len(a12) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        for o13 in a12:
                            v14 = o13
                            if len(v14) != 16:
                                bad_uuid()
                            w(S2_pack(v14))
                    parts[i11] = tag_head(3, parts, i11)
                write_unknown_tags(w, u1, k2, NO_TAG)
                parts[i4] = write_varint(c3)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_ConfigRecord():
    class ConfigRecord(Message):
        __slots__ = ('resource_type', 'resource_name', 'name', 'value', 'unknown_tags')
        def __init__(self, *, resource_type=0, resource_name='', name='', value='', unknown_tags=None):
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.name = name
            self.value = value
            self.unknown_tags = unknown_tags

    return locals()


def decode_ConfigRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(ConfigRecord)
            o0.resource_type, = S0_unpack(b, p)
            p += 1
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.resource_name = str(b[p : p + n], "utf-8")
            p += n
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.name = str(b[p : p + n], "utf-8")
            p += n
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n == -1:
                o0.value = None
            else:
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o0.value = str(b[p : p + n], "utf-8")
                p += n
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_ConfigRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            v1 = o0.resource_name
            v1 = v1.encode()
            if len(v1) > 32767:
                long_string(v1)
            w(S0_pack(o0.resource_type))
            n = len(v1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            w(v1)
            v2 = o0.name
            v2 = v2.encode()
            if len(v2) > 32767:
                long_string(v2)
            n = len(v2) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            w(v2)
            v3 = o0.value
            if v3 is None:
                w(b'\x00')
            else:
                v3 = v3.encode()
                if len(v3) > 32767:
                    long_string(v3)
                n = len(v3) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v3)
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_EndTransactionRecord():
    class EndTransactionRecord(Message):
        __slots__ = ('unknown_tags',)
        def __init__(self, *, unknown_tags=None):
            self.unknown_tags = unknown_tags

    return locals()


def decode_EndTransactionRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(EndTransactionRecord)
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_EndTransactionRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_FeatureLevelRecord():
    class FeatureLevelRecord(Message):
        __slots__ = ('name', 'feature_level', 'unknown_tags')
        def __init__(self, *, name='', feature_level=0, unknown_tags=None):
            self.name = name
            self.feature_level = feature_level
            self.unknown_tags = unknown_tags

    return locals()


def decode_FeatureLevelRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(FeatureLevelRecord)
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.name = str(b[p : p + n], "utf-8")
            p += n
            o0.feature_level, = S0_unpack(b, p)
            p += 2
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_FeatureLevelRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            v1 = o0.name
            v1 = v1.encode()
            if len(v1) > 32767:
                long_string(v1)
            n = len(v1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            w(v1)
            w(S0_pack(o0.feature_level))
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_KRaftVersionRecord():
    class KRaftVersionRecord(Message):
        __slots__ = ('version', 'kraft_version', 'unknown_tags')
        def __init__(self, *, version=0, kraft_version=0, unknown_tags=None):
            self.version = version
            self.kraft_version = kraft_version
            self.unknown_tags = unknown_tags

    return locals()


def decode_KRaftVersionRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(KRaftVersionRecord)
            o0.version, o0.kraft_version = S0_unpack(b, p)
            p += 4
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_KRaftVersionRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            w(S0_pack(o0.version, o0.kraft_version))
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_LeaderChangeMessage():
    class LeaderChangeMessage(Message):
        __slots__ = ('version', 'leader_id', 'voters', 'granting_voters', 'unknown_tags')
        def __init__(self, *, version=0, leader_id=0, voters=UNSET, granting_voters=UNSET, unknown_tags=None):
            self.version = version
            self.leader_id = leader_id
            self.voters = [] if voters is UNSET else voters
            self.granting_voters = [] if granting_voters is UNSET else granting_voters
            self.unknown_tags = unknown_tags

    class LeaderChangeMessageVoter(Struct):
        __slots__ = ('voter_id', 'voter_directory_id', 'unknown_tags')
        def __init__(self, *, voter_id=0, voter_directory_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', unknown_tags=None):
            self.voter_id = voter_id
            self.voter_directory_id = voter_directory_id
            self.unknown_tags = unknown_tags

    return locals()


def decode_LeaderChangeMessage_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(LeaderChangeMessage)
            o0.version, o0.leader_id = S0_unpack(b, p)
            p += 6
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 5 > e - p or g < 0:
                bad_count(n, e - p, g)
            a1 = o0.voters = []
            for _ in range(n):
                o2 = new(LeaderChangeMessageVoter)
                o2.voter_directory_id = b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
                o2.voter_id, = S1_unpack(b, p)
                p += 4
                if b[p]:
                    o2.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o2.unknown_tags = None
                    p += 1
                a1.append(o2)
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 5 > e - p or g < 0:
                bad_count(n, e - p, g)
            a3 = o0.granting_voters = []
            for _ in range(n):
                o4 = new(LeaderChangeMessageVoter)
                o4.voter_directory_id = b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
                o4.voter_id, = S1_unpack(b, p)
                p += 4
                if b[p]:
                    o4.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o4.unknown_tags = None
                    p += 1
                a3.append(o4)
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_LeaderChangeMessage_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            a1 = o0.voters
            w(S0_pack(o0.version, o0.leader_id))
            n = len(a1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o2 in a1:
                if o2.voter_directory_id != b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00':
                    not_in_version()
                w(S1_pack(o2.voter_id))
                if o2.unknown_tags:
                    write_only_tags(w, o2.unknown_tags)
                else:
                    w(b'\0')
            a3 = o0.granting_voters
            n = len(a3) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o4 in a3:
                if o4.voter_directory_id != b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00':
                    not_in_version()
                w(S1_pack(o4.voter_id))
                if o4.unknown_tags:
                    write_only_tags(w, o4.unknown_tags)
                else:
                    w(b'\0')
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_MetadataRequest():
    class MetadataRequest(Message):
        __slots__ = ('topics', 'allow_auto_topic_creation', 'include_cluster_authorized_operations', 'include_topic_authorized_operations', 'unknown_tags')
        def __init__(self, *, topics=UNSET, allow_auto_topic_creation=True, include_cluster_authorized_operations=False, include_topic_authorized_operations=False, unknown_tags=None):
            self.topics = [] if topics is UNSET else topics
            self.allow_auto_topic_creation = allow_auto_topic_creation
            self.include_cluster_authorized_operations = include_cluster_authorized_operations
            self.include_topic_authorized_operations = include_topic_authorized_operations
            self.unknown_tags = unknown_tags

    class MetadataRequestMetadataRequestTopic(Struct):
        __slots__ = ('topic_id', 'name', 'unknown_tags')
        def __init__(self, *, topic_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', name='', unknown_tags=None):
            self.topic_id = topic_id
            self.name = name
            self.unknown_tags = unknown_tags

    return locals()


def decode_MetadataRequest_1():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(MetadataRequest)
            o0.allow_auto_topic_creation = True
            o0.include_cluster_authorized_operations = False
            o0.include_topic_authorized_operations = False
            n, = S0_unpack(b, p)
            p += 4
            if n == -1:
                o0.topics = None
            else:
                g -= n
                if n < 0 or n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                a1 = o0.topics = []
                for _ in range(n):
                    o2 = new(MetadataRequestMetadataRequestTopic)
                    o2.topic_id = b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
                    n, = S1_unpack(b, p)
                    p += 2
                    if n < 0 or n > e - p:
                        bad_length(n, e - p)
                    o2.name = str(b[p : p + n], "utf-8")
                    p += n
                    o2.unknown_tags = None
                    a1.append(o2)
            o0.unknown_tags = None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def decode_MetadataRequest_12():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(MetadataRequest)
            o0.include_cluster_authorized_operations = False
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n == -1:
                o0.topics = None
            else:
                g -= n
                if n < 0 or n * 18 > e - p or g < 0:
                    bad_count(n, e - p, g)
                a1 = o0.topics = []
                for _ in range(n):
                    o2 = new(MetadataRequestMetadataRequestTopic)
                    o2.topic_id, = S0_unpack(b, p)
                    p += 16
                    n = b[p] - 1
                    p += 1
                    if n > 126:
                        n, p = read_length(b, p)
                    if n == -1:
                        o2.name = None
                    else:
                        if n < 0 or n > e - p or n > 32767:
                            bad_length(n, e - p)
                        o2.name = str(b[p : p + n], "utf-8")
                        p += n
                    if b[p]:
                        o2.unknown_tags, p, g = read_unknown_tags(b, p, g)
                    else:
                        o2.unknown_tags = None
                        p += 1
                    a1.append(o2)
            o0.allow_auto_topic_creation, o0.include_topic_authorized_operations = S1_unpack(b, p)
            p += 2
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def decode_MetadataRequest_13():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(MetadataRequest)
            o0.include_cluster_authorized_operations = False
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n == -1:
                o0.topics = None
            else:
                g -= n
                if n < 0 or n * 18 > e - p or g < 0:
                    bad_count(n, e - p, g)
                a1 = o0.topics = []
                for _ in range(n):
                    o2 = new(MetadataRequestMetadataRequestTopic)
                    o2.topic_id, = S0_unpack(b, p)
                    p += 16
                    n = b[p] - 1
                    p += 1
                    if n > 126:
                        n, p = read_length(b, p)
                    if n == -1:
                        o2.name = None
                    else:
                        if n < 0 or n > e - p or n > 32767:
                            bad_length(n, e - p)
                        o2.name = str(b[p : p + n], "utf-8")
                        p += n
                    if b[p]:
                        o2.unknown_tags, p, g = read_unknown_tags(b, p, g)
                    else:
                        o2.unknown_tags = None
                        p += 1
                    a1.append(o2)
            o0.allow_auto_topic_creation, o0.include_topic_authorized_operations = S1_unpack(b, p)
            p += 2
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def classes_MetadataResponse():
    class MetadataResponse(Message):
        __slots__ = ('throttle_time_ms', 'brokers', 'cluster_id', 'controller_id', 'topics', 'cluster_authorized_operations', 'error_code', 'unknown_tags')
        def __init__(self, *, throttle_time_ms=0, brokers=UNSET, cluster_id=None, controller_id=-1, topics=UNSET, cluster_authorized_operations=-2147483648, error_code=0, unknown_tags=None):
            self.throttle_time_ms = throttle_time_ms
            self.brokers = [] if brokers is UNSET else brokers
            self.cluster_id = cluster_id
            self.controller_id = controller_id
            self.topics = [] if topics is UNSET else topics
            self.cluster_authorized_operations = cluster_authorized_operations
            self.error_code = error_code
            self.unknown_tags = unknown_tags

    class MetadataResponseMetadataResponseBroker(Struct):
        __slots__ = ('node_id', 'host', 'port', 'rack', 'unknown_tags')
        def __init__(self, *, node_id=0, host='', port=0, rack=None, unknown_tags=None):
            self.node_id = node_id
            self.host = host
            self.port = port
            self.rack = rack
            self.unknown_tags = unknown_tags

    class MetadataResponseMetadataResponseTopic(Struct):
        __slots__ = ('error_code', 'name', 'topic_id', 'is_internal', 'partitions', 'topic_authorized_operations', 'unknown_tags')
        def __init__(self, *, error_code=0, name='', topic_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', is_internal=False, partitions=UNSET, topic_authorized_operations=-2147483648, unknown_tags=None):
            self.error_code = error_code
            self.name = name
            self.topic_id = topic_id
            self.is_internal = is_internal
            self.partitions = [] if partitions is UNSET else partitions
            self.topic_authorized_operations = topic_authorized_operations
            self.unknown_tags = unknown_tags

    class MetadataResponseMetadataResponsePartition(Struct):
        __slots__ = ('error_code', 'partition_index', 'leader_id', 'leader_epoch', 'replica_nodes', 'isr_nodes', 'offline_replicas', 'unknown_tags')
        def __init__(self, *, error_code=0, partition_index=0, leader_id=0, leader_epoch=-1, replica_nodes=UNSET, isr_nodes=UNSET, offline_replicas=UNSET, unknown_tags=None):
            self.error_code = error_code
            self.partition_index = partition_index
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.replica_nodes = [] if replica_nodes is UNSET else replica_nodes
            self.isr_nodes = [] if isr_nodes is UNSET else isr_nodes
            self.offline_replicas = [] if offline_replicas is UNSET else offline_replicas
            self.unknown_tags = unknown_tags

    return locals()


def encode_MetadataResponse_1():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if o0.cluster_authorized_operations != -2147483648:
                not_in_version()
            a1 = o0.brokers
            w(S0_pack(len(a1)))
            for o2 in a1:
                v3 = o2.host
                v3 = v3.encode()
                if len(v3) > 32767:
                    long_string(v3)
                w(S1_pack(o2.node_id, len(v3)))
                w(v3)
                v4 = o2.rack
                w(S0_pack(o2.port))
                if v4 is None:
                    w(b'\xff\xff')
                else:
                    v4 = v4.encode()
                    if len(v4) > 32767:
                        long_string(v4)
                    w(S2_pack(len(v4)))
                    w(v4)
                if o2.unknown_tags:
                    no_tags()
            a5 = o0.topics
            w(S3_pack(o0.controller_id, len(a5)))
            for o6 in a5:
                if o6.topic_authorized_operations != -2147483648:
                    not_in_version()
                v7 = o6.name
                v7 = v7.encode()
                if len(v7) > 32767:
                    long_string(v7)
                w(S4_pack(o6.error_code, len(v7)))
                w(v7)
                a8 = o6.partitions
                w(S5_pack(o6.is_internal, len(a8)))
                for o9 in a8:
                    a10 = o9.replica_nodes
                    w(S6_pack(o9.error_code, o9.partition_index, o9.leader_id, len(a10)))
                    w(pack(f">{len(a10)}i", *a10))
                    a11 = o9.isr_nodes
                    w(S0_pack(len(a11)))
                    w(pack(f">{len(a11)}i", *a11))
                    if o9.unknown_tags:
                        no_tags()
                if o6.unknown_tags:
                    no_tags()
            if o0.unknown_tags:
                no_tags()
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def encode_MetadataResponse_12():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if o0.cluster_authorized_operations != -2147483648:
                not_in_version()
            a1 = o0.brokers
            w(S0_pack(o0.throttle_time_ms))
            n = len(a1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o2 in a1:
                v3 = o2.host
                v3 = v3.encode()
                if len(v3) > 32767:
                    long_string(v3)
                w(S0_pack(o2.node_id))
                n = len(v3) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v3)
                v4 = o2.rack
                w(S0_pack(o2.port))
                if v4 is None:
                    w(b'\x00')
                else:
                    v4 = v4.encode()
                    if len(v4) > 32767:
                        long_string(v4)
                    n = len(v4) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(v4)
                if o2.unknown_tags:
                    write_only_tags(w, o2.unknown_tags)
                else:
                    w(b'\0')
            v5 = o0.cluster_id
            if v5 is None:
                w(b'\x00')
            else:
                v5 = v5.encode()
                if len(v5) > 32767:
                    long_string(v5)
                n = len(v5) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v5)
            a6 = o0.topics
            w(S0_pack(o0.controller_id))
            n = len(a6) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o7 in a6:
                v8 = o7.name
                w(S1_pack(o7.error_code))
                if v8 is None:
                    w(b'\x00')
                else:
                    v8 = v8.encode()
                    if len(v8) > 32767:
                        long_string(v8)
                    n = len(v8) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(v8)
                v9 = o7.topic_id
                if len(v9) != 16:
                    bad_uuid()
                a10 = o7.partitions
                w(S2_pack(v9, o7.is_internal))
                n = len(a10) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                for o11 in a10:
                    a12 = o11.replica_nodes
                    w(S3_pack(o11.error_code, o11.partition_index, o11.leader_id, o11.leader_epoch))
                    n = len(a12) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(pack(f">{len(a12)}i", *a12))
                    a13 = o11.isr_nodes
                    n = len(a13) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(pack(f">{len(a13)}i", *a13))
                    a14 = o11.offline_replicas
                    n = len(a14) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(pack(f">{len(a14)}i", *a14))
                    if o11.unknown_tags:
                        write_only_tags(w, o11.unknown_tags)
                    else:
                        w(b'\0')
                w(S0_pack(o7.topic_authorized_operations))
                if o7.unknown_tags:
                    write_only_tags(w, o7.unknown_tags)
                else:
                    w(b'\0')
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def encode_MetadataResponse_13():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            if o0.cluster_authorized_operations != -2147483648:
                not_in_version()
            a1 = o0.brokers
            w(S0_pack(o0.throttle_time_ms))
            n = len(a1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o2 in a1:
                v3 = o2.host
                v3 = v3.encode()
                if len(v3) > 32767:
                    long_string(v3)
                w(S0_pack(o2.node_id))
                n = len(v3) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v3)
                v4 = o2.rack
                w(S0_pack(o2.port))
                if v4 is None:
                    w(b'\x00')
                else:
                    v4 = v4.encode()
                    if len(v4) > 32767:
                        long_string(v4)
                    n = len(v4) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(v4)
                if o2.unknown_tags:
                    write_only_tags(w, o2.unknown_tags)
                else:
                    w(b'\0')
            v5 = o0.cluster_id
            if v5 is None:
                w(b'\x00')
            else:
                v5 = v5.encode()
                if len(v5) > 32767:
                    long_string(v5)
                n = len(v5) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v5)
            a6 = o0.topics
            w(S0_pack(o0.controller_id))
            n = len(a6) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o7 in a6:
                v8 = o7.name
                w(S1_pack(o7.error_code))
                if v8 is None:
                    w(b'\x00')
                else:
                    v8 = v8.encode()
                    if len(v8) > 32767:
                        long_string(v8)
                    n = len(v8) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(v8)
                v9 = o7.topic_id
                if len(v9) != 16:
                    bad_uuid()
                a10 = o7.partitions
                w(S2_pack(v9, o7.is_internal))
                n = len(a10) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                for o11 in a10:
                    a12 = o11.replica_nodes
                    w(S3_pack(o11.error_code, o11.partition_index, o11.leader_id, o11.leader_epoch))
                    n = len(a12) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(pack(f">{len(a12)}i", *a12))
                    a13 = o11.isr_nodes
                    n = len(a13) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(pack(f">{len(a13)}i", *a13))
                    a14 = o11.offline_replicas
                    n = len(a14) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(pack(f">{len(a14)}i", *a14))
                    if o11.unknown_tags:
                        write_only_tags(w, o11.unknown_tags)
                    else:
                        w(b'\0')
                w(S0_pack(o7.topic_authorized_operations))
                if o7.unknown_tags:
                    write_only_tags(w, o7.unknown_tags)
                else:
                    w(b'\0')
            w(S1_pack(o0.error_code))
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_PartitionRecord():
    class PartitionRecord(Message):
        __slots__ = ('partition_id', 'topic_id', 'replicas', 'isr', 'removing_replicas', 'adding_replicas', 'leader', 'leader_recovery_state', 'leader_epoch', 'partition_epoch', 'directories', 'eligible_leader_replicas', 'last_known_elr', 'unknown_tags')
        def __init__(self, *, partition_id=-1, topic_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', replicas=UNSET, isr=UNSET, removing_replicas=UNSET, adding_replicas=UNSET, leader=-1, leader_recovery_state=0, leader_epoch=-1, partition_epoch=-1, directories=UNSET, eligible_leader_replicas=None, last_known_elr=None, unknown_tags=None):
            self.partition_id = partition_id
            self.topic_id = topic_id
            self.replicas = [] if replicas is UNSET else replicas
            self.isr = [] if isr is UNSET else isr
            self.removing_replicas = [] if removing_replicas is UNSET else removing_replicas
            self.adding_replicas = [] if adding_replicas is UNSET else adding_replicas
            self.leader = leader
            self.leader_recovery_state = leader_recovery_state
            self.leader_epoch = leader_epoch
            self.partition_epoch = partition_epoch
            self.directories = [] if directories is UNSET else directories
            self.eligible_leader_replicas = eligible_leader_replicas
            self.last_known_elr = last_known_elr
            self.unknown_tags = unknown_tags

    return locals()


def decode_PartitionRecord_2():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(PartitionRecord)
            o0.partition_id, o0.topic_id = S0_unpack(b, p)
            p += 20
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 4 > e - p or g < 0:
                bad_count(n, e - p, g)
            o0.replicas = list(unpack_from(f">{n}i", b, p))
            p += n * 4
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 4 > e - p or g < 0:
                bad_count(n, e - p, g)
            o0.isr = list(unpack_from(f">{n}i", b, p))
            p += n * 4
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 4 > e - p or g < 0:
                bad_count(n, e - p, g)
            o0.removing_replicas = list(unpack_from(f">{n}i", b, p))
            p += n * 4
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 4 > e - p or g < 0:
                bad_count(n, e - p, g)
            o0.adding_replicas = list(unpack_from(f">{n}i", b, p))
            p += n * 4
            o0.leader, o0.leader_epoch, o0.partition_epoch = S1_unpack(b, p)
            p += 12
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 16 > e - p or g < 0:
                bad_count(n, e - p, g)
            o0.directories = [bytes(b[q : q + 16]) for q in range(p, p + n * 16, 16)]
            p += n * 16
            o0.leader_recovery_state = 0
            o0.eligible_leader_replicas = None
            o0.last_known_elr = None
            o0.unknown_tags = None
            n = b[p]
            p += 1
            if n > 127:
                n, p = read_varint(b, p - 1)
            if n:
                g -= n
                if n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                u1 = []
                for _ in range(n):
                    t2, p = read_varint(b, p)
                    n, p = read_varint(b, p)
                    if n > e - p:
                        bad_length(n, e - p)
                    q3 = p + n
                    if t2 == 0:
                        o0.leader_recovery_state, = S2_unpack(b, p)
                        p += 1
                        if p != q3:
                            bad_tag_size(p - q3)
                    elif t2 == 1:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        if n == -1:
                            o0.eligible_leader_replicas = None
                        else:
                            g -= n
                            if n < 0 or n * 4 > e - p or g < 0:
                                bad_count(n, e - p, g)
                            o0.eligible_leader_replicas = list(unpack_from(f">{n}i", b, p))
                            p += n * 4
                        if p != q3:
                            bad_tag_size(p - q3)
                    elif t2 == 2:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        if n == -1:
                            o0.last_known_elr = None
                        else:
                            g -= n
                            if n < 0 or n * 4 > e - p or g < 0:
                                bad_count(n, e - p, g)
                            o0.last_known_elr = list(unpack_from(f">{n}i", b, p))
                            p += n * 4
                        if p != q3:
                            bad_tag_size(p - q3)
                    else:
                        u1.append((t2, bytes(b[p:q3])))
                        p = q3
                o0.unknown_tags = u1 or None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def classes_RegisterBrokerRecord():
    class RegisterBrokerRecord(Message):
        __slots__ = ('broker_id', 'is_migrating_zk_broker', 'incarnation_id', 'broker_epoch', 'end_points', 'features', 'rack', 'fenced', 'in_controlled_shutdown', 'log_dirs', 'cordoned_log_dirs', 'unknown_tags')
        def __init__(self, *, broker_id=0, is_migrating_zk_broker=False, incarnation_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', broker_epoch=0, end_points=UNSET, features=UNSET, rack='', fenced=True, in_controlled_shutdown=False, log_dirs=UNSET, cordoned_log_dirs=None, unknown_tags=None):
            self.broker_id = broker_id
            self.is_migrating_zk_broker = is_migrating_zk_broker
            self.incarnation_id = incarnation_id
            self.broker_epoch = broker_epoch
            self.end_points = [] if end_points is UNSET else end_points
            self.features = [] if features is UNSET else features
            self.rack = rack
            self.fenced = fenced
            self.in_controlled_shutdown = in_controlled_shutdown
            self.log_dirs = [] if log_dirs is UNSET else log_dirs
            self.cordoned_log_dirs = cordoned_log_dirs
            self.unknown_tags = unknown_tags

    class RegisterBrokerRecordBrokerEndpoint(Struct):
        __slots__ = ('name', 'host', 'port', 'security_protocol', 'unknown_tags')
        def __init__(self, *, name='', host='', port=0, security_protocol=0, unknown_tags=None):
            self.name = name
            self.host = host
            self.port = port
            self.security_protocol = security_protocol
            self.unknown_tags = unknown_tags

    class RegisterBrokerRecordBrokerFeature(Struct):
        __slots__ = ('name', 'min_supported_version', 'max_supported_version', 'unknown_tags')
        def __init__(self, *, name='', min_supported_version=0, max_supported_version=0, unknown_tags=None):
            self.name = name
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tags = unknown_tags

    return locals()


def decode_RegisterBrokerRecord_4():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(RegisterBrokerRecord)
            o0.broker_id, o0.is_migrating_zk_broker, o0.incarnation_id, o0.broker_epoch = S0_unpack(b, p)
            p += 29
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 7 > e - p or g < 0:
                bad_count(n, e - p, g)
            a1 = o0.end_points = []
            for _ in range(n):
                o2 = new(RegisterBrokerRecordBrokerEndpoint)
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o2.name = str(b[p : p + n], "utf-8")
                p += n
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o2.host = str(b[p : p + n], "utf-8")
                p += n
                o2.port, o2.security_protocol = S1_unpack(b, p)
                p += 4
                if b[p]:
                    o2.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o2.unknown_tags = None
                    p += 1
                a1.append(o2)
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 6 > e - p or g < 0:
                bad_count(n, e - p, g)
            a3 = o0.features = []
            for _ in range(n):
                o4 = new(RegisterBrokerRecordBrokerFeature)
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o4.name = str(b[p : p + n], "utf-8")
                p += n
                o4.min_supported_version, o4.max_supported_version = S2_unpack(b, p)
                p += 4
                if b[p]:
                    o4.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o4.unknown_tags = None
                    p += 1
                a3.append(o4)
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n == -1:
                o0.rack = None
            else:
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o0.rack = str(b[p : p + n], "utf-8")
                p += n
            o0.fenced, o0.in_controlled_shutdown = S3_unpack(b, p)
            p += 2
            o0.log_dirs = []
            o0.cordoned_log_dirs = None
            o0.unknown_tags = None
            n = b[p]
            p += 1
            if n > 127:
                n, p = read_varint(b, p - 1)
            if n:
                g -= n
                if n * 2 > e - p or g < 0:
                    bad_count(n, e - p, g)
                u5 = []
                for _ in range(n):
                    t6, p = read_varint(b, p)
                    n, p = read_varint(b, p)
                    if n > e - p:
                        bad_length(n, e - p)
                    q7 = p + n
                    if t6 == 0:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        g -= n
                        if n < 0 or n * 16 > e - p or g < 0:
                            bad_count(n, e - p, g)
                        o0.log_dirs = [bytes(b[q : q + 16]) for q in range(p, p + n * 16, 16)]
                        p += n * 16
                        if p != q7:
                            bad_tag_size(p - q7)
                    elif t6 == 1:
                        n = b[p] - 1
                        p += 1
                        if n > 126:
                            n, p = read_length(b, p)
                        if n == -1:
                            o0.cordoned_log_dirs = None
                        else:
                            g -= n
                            if n < 0 or n * 16 > e - p or g < 0:
                                bad_count(n, e - p, g)
                            o0.cordoned_log_dirs = [bytes(b[q : q + 16]) for q in range(p, p + n * 16, 16)]
                            p += n * 16
                        if p != q7:
                            bad_tag_size(p - q7)
                    else:
                        u5.append((t6, bytes(b[p:q7])))
                        p = q7
                o0.unknown_tags = u5 or None
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_RegisterBrokerRecord_4():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            v1 = o0.incarnation_id
            if len(v1) != 16:
                bad_uuid()
            a2 = o0.end_points
            w(S0_pack(o0.broker_id, o0.is_migrating_zk_broker, v1, o0.broker_epoch))
            n = len(a2) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o3 in a2:
                v4 = o3.name
                v4 = v4.encode()
                if len(v4) > 32767:
                    long_string(v4)
                n = len(v4) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v4)
                v5 = o3.host
                v5 = v5.encode()
                if len(v5) > 32767:
                    long_string(v5)
                n = len(v5) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v5)
                w(S1_pack(o3.port, o3.security_protocol))
                if o3.unknown_tags:
                    write_only_tags(w, o3.unknown_tags)
                else:
                    w(b'\0')
            a6 = o0.features
            n = len(a6) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o7 in a6:
                v8 = o7.name
                v8 = v8.encode()
                if len(v8) > 32767:
                    long_string(v8)
                n = len(v8) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v8)
                w(S2_pack(o7.min_supported_version, o7.max_supported_version))
                if o7.unknown_tags:
                    write_only_tags(w, o7.unknown_tags)
                else:
                    w(b'\0')
            v9 = o0.rack
            if v9 is None:
                w(b'\x00')
            else:
                v9 = v9.encode()
                if len(v9) > 32767:
                    long_string(v9)
                n = len(v9) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v9)
            w(S3_pack(o0.fenced, o0.in_controlled_shutdown))
            if o0.unknown_tags or len(o0.log_dirs) or o0.cordoned_log_dirs is not None:
                u10 = sorted_tags(o0.unknown_tags)
                k11 = 0
                c12 = len(u10)
                i13 = len(parts)
                w(b'')
                if len(o0.log_dirs):
                    k11 = write_unknown_tags(w, u10, k11, 0)
                    c12 += 1
                    i14 = len(parts)
                    w(b'')
                    a15 = o0.log_dirs
                    n = len(a15) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    for o16 in a15:
                        v17 = o16
                        if len(v17) != 16:
                            bad_uuid()
                        w(S4_pack(v17))
                    parts[i14] = tag_head(0, parts, i14)
                if o0.cordoned_log_dirs is not None:
                    k11 = write_unknown_tags(w, u10, k11, 1)
                    c12 += 1
                    i18 = len(parts)
                    w(b'')
                    a19 = o0.cordoned_log_dirs
                    if a19 is None:
                        w(b'\x00')
                    else:
                        n = len(a19) + 1
                        w(VARINTS[n] if n < 128 else write_varint(n))
                        for o20 in a19:
                            v21 = o20
                            if len(v21) != 16:
                                bad_uuid()
                            w(S4_pack(v21))
                    parts[i18] = tag_head(1, parts, i18)
                write_unknown_tags(w, u10, k11, NO_TAG)
                parts[i13] = write_varint(c12)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_RegisterControllerRecord():
    class RegisterControllerRecord(Message):
        __slots__ = ('controller_id', 'incarnation_id', 'zk_migration_ready', 'end_points', 'features', 'unknown_tags')
        def __init__(self, *, controller_id=0, incarnation_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', zk_migration_ready=False, end_points=UNSET, features=UNSET, unknown_tags=None):
            self.controller_id = controller_id
            self.incarnation_id = incarnation_id
            self.zk_migration_ready = zk_migration_ready
            self.end_points = [] if end_points is UNSET else end_points
            self.features = [] if features is UNSET else features
            self.unknown_tags = unknown_tags

    class RegisterControllerRecordControllerEndpoint(Struct):
        __slots__ = ('name', 'host', 'port', 'security_protocol', 'unknown_tags')
        def __init__(self, *, name='', host='', port=0, security_protocol=0, unknown_tags=None):
            self.name = name
            self.host = host
            self.port = port
            self.security_protocol = security_protocol
            self.unknown_tags = unknown_tags

    class RegisterControllerRecordControllerFeature(Struct):
        __slots__ = ('name', 'min_supported_version', 'max_supported_version', 'unknown_tags')
        def __init__(self, *, name='', min_supported_version=0, max_supported_version=0, unknown_tags=None):
            self.name = name
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tags = unknown_tags

    return locals()


def decode_RegisterControllerRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(RegisterControllerRecord)
            o0.controller_id, o0.incarnation_id, o0.zk_migration_ready = S0_unpack(b, p)
            p += 21
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 7 > e - p or g < 0:
                bad_count(n, e - p, g)
            a1 = o0.end_points = []
            for _ in range(n):
                o2 = new(RegisterControllerRecordControllerEndpoint)
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o2.name = str(b[p : p + n], "utf-8")
                p += n
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o2.host = str(b[p : p + n], "utf-8")
                p += n
                o2.port, o2.security_protocol = S1_unpack(b, p)
                p += 4
                if b[p]:
                    o2.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o2.unknown_tags = None
                    p += 1
                a1.append(o2)
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 6 > e - p or g < 0:
                bad_count(n, e - p, g)
            a3 = o0.features = []
            for _ in range(n):
                o4 = new(RegisterControllerRecordControllerFeature)
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                if n < 0 or n > e - p or n > 32767:
                    bad_length(n, e - p)
                o4.name = str(b[p : p + n], "utf-8")
                p += n
                o4.min_supported_version, o4.max_supported_version = S2_unpack(b, p)
                p += 4
                if b[p]:
                    o4.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o4.unknown_tags = None
                    p += 1
                a3.append(o4)
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_RegisterControllerRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            v1 = o0.incarnation_id
            if len(v1) != 16:
                bad_uuid()
            a2 = o0.end_points
            w(S0_pack(o0.controller_id, v1, o0.zk_migration_ready))
            n = len(a2) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o3 in a2:
                v4 = o3.name
                v4 = v4.encode()
                if len(v4) > 32767:
                    long_string(v4)
                n = len(v4) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v4)
                v5 = o3.host
                v5 = v5.encode()
                if len(v5) > 32767:
                    long_string(v5)
                n = len(v5) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v5)
                w(S1_pack(o3.port, o3.security_protocol))
                if o3.unknown_tags:
                    write_only_tags(w, o3.unknown_tags)
                else:
                    w(b'\0')
            a6 = o0.features
            n = len(a6) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o7 in a6:
                v8 = o7.name
                v8 = v8.encode()
                if len(v8) > 32767:
                    long_string(v8)
                n = len(v8) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                w(v8)
                w(S2_pack(o7.min_supported_version, o7.max_supported_version))
                if o7.unknown_tags:
                    write_only_tags(w, o7.unknown_tags)
                else:
                    w(b'\0')
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_SnapshotFooterRecord():
    class SnapshotFooterRecord(Message):
        __slots__ = ('version', 'unknown_tags')
        def __init__(self, *, version=0, unknown_tags=None):
            self.version = version
            self.unknown_tags = unknown_tags

    return locals()


def decode_SnapshotFooterRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(SnapshotFooterRecord)
            o0.version, = S0_unpack(b, p)
            p += 2
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_SnapshotFooterRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            w(S0_pack(o0.version))
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_SnapshotHeaderRecord():
    class SnapshotHeaderRecord(Message):
        __slots__ = ('version', 'last_contained_log_timestamp', 'unknown_tags')
        def __init__(self, *, version=0, last_contained_log_timestamp=0, unknown_tags=None):
            self.version = version
            self.last_contained_log_timestamp = last_contained_log_timestamp
            self.unknown_tags = unknown_tags

    return locals()


def decode_SnapshotHeaderRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(SnapshotHeaderRecord)
            o0.version, o0.last_contained_log_timestamp = S0_unpack(b, p)
            p += 10
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_SnapshotHeaderRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            w(S0_pack(o0.version, o0.last_contained_log_timestamp))
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


def classes_TopicRecord():
    class TopicRecord(Message):
        __slots__ = ('name', 'topic_id', 'unknown_tags')
        def __init__(self, *, name='', topic_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', unknown_tags=None):
            self.name = name
            self.topic_id = topic_id
            self.unknown_tags = unknown_tags

    return locals()


def decode_TopicRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(TopicRecord)
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            if n < 0 or n > e - p or n > 32767:
                bad_length(n, e - p)
            o0.name = str(b[p : p + n], "utf-8")
            p += n
            o0.topic_id, = S0_unpack(b, p)
            p += 16
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def classes_VotersRecord():
    class VotersRecord(Message):
        __slots__ = ('version', 'voters', 'unknown_tags')
        def __init__(self, *, version=0, voters=UNSET, unknown_tags=None):
            self.version = version
            self.voters = [] if voters is UNSET else voters
            self.unknown_tags = unknown_tags

    class VotersRecordVoter(Struct):
        __slots__ = ('voter_id', 'voter_directory_id', 'endpoints', 'kraft_version_feature', 'unknown_tags')
        def __init__(self, *, voter_id=0, voter_directory_id=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', endpoints=UNSET, kraft_version_feature=UNSET, unknown_tags=None):
            self.voter_id = voter_id
            self.voter_directory_id = voter_directory_id
            self.endpoints = [] if endpoints is UNSET else endpoints
            self.kraft_version_feature = default_VotersRecordKRaftVersionFeature() if kraft_version_feature is UNSET else kraft_version_feature
            self.unknown_tags = unknown_tags

    class VotersRecordEndpoint(Struct):
        __slots__ = ('name', 'host', 'port', 'unknown_tags')
        def __init__(self, *, name='', host='', port=0, unknown_tags=None):
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tags = unknown_tags

    class VotersRecordKRaftVersionFeature(Struct):
        __slots__ = ('min_supported_version', 'max_supported_version', 'unknown_tags')
        def __init__(self, *, min_supported_version=0, max_supported_version=0, unknown_tags=None):
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tags = unknown_tags

    def default_VotersRecordKRaftVersionFeature():
        made = new(VotersRecordKRaftVersionFeature)
        made.min_supported_version = 0
        made.max_supported_version = 0
        made.unknown_tags = None
        return made

    return locals()


def decode_VotersRecord_0():
    def decode(b, p, g):
        try:
            e = len(b)
            o0 = new(VotersRecord)
            o0.version, = S0_unpack(b, p)
            p += 2
            n = b[p] - 1
            p += 1
            if n > 126:
                n, p = read_length(b, p)
            g -= n
            if n < 0 or n * 27 > e - p or g < 0:
                bad_count(n, e - p, g)
            a1 = o0.voters = []
            for _ in range(n):
                o2 = new(VotersRecordVoter)
                o2.voter_id, o2.voter_directory_id = S1_unpack(b, p)
                p += 20
                n = b[p] - 1
                p += 1
                if n > 126:
                    n, p = read_length(b, p)
                g -= n
                if n < 0 or n * 5 > e - p or g < 0:
                    bad_count(n, e - p, g)
                a3 = o2.endpoints = []
                for _ in range(n):
                    o4 = new(VotersRecordEndpoint)
                    n = b[p] - 1
                    p += 1
                    if n > 126:
                        n, p = read_length(b, p)
                    if n < 0 or n > e - p or n > 32767:
                        bad_length(n, e - p)
                    o4.name = str(b[p : p + n], "utf-8")
                    p += n
                    n = b[p] - 1
                    p += 1
                    if n > 126:
                        n, p = read_length(b, p)
                    if n < 0 or n > e - p or n > 32767:
                        bad_length(n, e - p)
                    o4.host = str(b[p : p + n], "utf-8")
                    p += n
                    o4.port, = S2_unpack(b, p)
                    p += 2
                    if b[p]:
                        o4.unknown_tags, p, g = read_unknown_tags(b, p, g)
                    else:
                        o4.unknown_tags = None
                        p += 1
                    a3.append(o4)
                o5 = new(VotersRecordKRaftVersionFeature)
                o5.min_supported_version, o5.max_supported_version = S3_unpack(b, p)
                p += 4
                if b[p]:
                    o5.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o5.unknown_tags = None
                    p += 1
                o2.kraft_version_feature = o5
                if b[p]:
                    o2.unknown_tags, p, g = read_unknown_tags(b, p, g)
                else:
                    o2.unknown_tags = None
                    p += 1
                a1.append(o2)
            if b[p]:
                o0.unknown_tags, p, g = read_unknown_tags(b, p, g)
            else:
                o0.unknown_tags = None
                p += 1
            return o0, p
        except FAULTS as fault:
            raise fail(fault) from None
    return locals()


def encode_VotersRecord_0():
    def encode(o0):
        parts = []
        cuts = []
        w = parts.append
        try:
            a1 = o0.voters
            w(S0_pack(o0.version))
            n = len(a1) + 1
            w(VARINTS[n] if n < 128 else write_varint(n))
            for o2 in a1:
                v3 = o2.voter_directory_id
                if len(v3) != 16:
                    bad_uuid()
                a4 = o2.endpoints
                w(S1_pack(o2.voter_id, v3))
                n = len(a4) + 1
                w(VARINTS[n] if n < 128 else write_varint(n))
                for o5 in a4:
                    v6 = o5.name
                    v6 = v6.encode()
                    if len(v6) > 32767:
                        long_string(v6)
                    n = len(v6) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(v6)
                    v7 = o5.host
                    v7 = v7.encode()
                    if len(v7) > 32767:
                        long_string(v7)
                    n = len(v7) + 1
                    w(VARINTS[n] if n < 128 else write_varint(n))
                    w(v7)
                    w(S2_pack(o5.port))
                    if o5.unknown_tags:
                        write_only_tags(w, o5.unknown_tags)
                    else:
                        w(b'\0')
                o8 = o2.kraft_version_feature
                w(S3_pack(o8.min_supported_version, o8.max_supported_version))
                if o8.unknown_tags:
                    write_only_tags(w, o8.unknown_tags)
                else:
                    w(b'\0')
                if o2.unknown_tags:
                    write_only_tags(w, o2.unknown_tags)
                else:
                    w(b'\0')
            if o0.unknown_tags:
                write_only_tags(w, o0.unknown_tags)
            else:
                w(b'\0')
            return parts, cuts
        except FAULTS as fault:
            raise fail(fault) from fault
    return locals()


CLASSES = {
    "ApiVersionsRequest": classes_ApiVersionsRequest,
    "ApiVersionsResponse": classes_ApiVersionsResponse,
    "BeginTransactionRecord": classes_BeginTransactionRecord,
    "BrokerRegistrationChangeRecord": classes_BrokerRegistrationChangeRecord,
    "ConfigRecord": classes_ConfigRecord,
    "EndTransactionRecord": classes_EndTransactionRecord,
    "FeatureLevelRecord": classes_FeatureLevelRecord,
    "KRaftVersionRecord": classes_KRaftVersionRecord,
    "LeaderChangeMessage": classes_LeaderChangeMessage,
    "MetadataRequest": classes_MetadataRequest,
    "MetadataResponse": classes_MetadataResponse,
    "PartitionRecord": classes_PartitionRecord,
    "RegisterBrokerRecord": classes_RegisterBrokerRecord,
    "RegisterControllerRecord": classes_RegisterControllerRecord,
    "SnapshotFooterRecord": classes_SnapshotFooterRecord,
    "SnapshotHeaderRecord": classes_SnapshotHeaderRecord,
    "TopicRecord": classes_TopicRecord,
    "VotersRecord": classes_VotersRecord,
}

CODECS = {
    ("ApiVersionsRequest", 0, True): (decode_ApiVersionsRequest_0, ()),
    ("ApiVersionsRequest", 3, True): (decode_ApiVersionsRequest_3, ()),
    ("ApiVersionsRequest", 4, True): (decode_ApiVersionsRequest_4, ()),
    ("ApiVersionsResponse", 0, False): (encode_ApiVersionsResponse_0, ('>hi', '>hhh')),
    ("ApiVersionsResponse", 3, False): (encode_ApiVersionsResponse_3, ('>h', '>hhh', '>i', '>hh', '>q', '>?')),
    ("ApiVersionsResponse", 4, False): (encode_ApiVersionsResponse_4, ('>h', '>hhh', '>i', '>hh', '>q', '>?')),
    ("BeginTransactionRecord", 0, True): (decode_BeginTransactionRecord_0, ()),
    ("BeginTransactionRecord", 0, False): (encode_BeginTransactionRecord_0, ()),
    ("BrokerRegistrationChangeRecord", 0, True): (decode_BrokerRegistrationChangeRecord_0, ('>iq', '>b')),
    ("BrokerRegistrationChangeRecord", 1, True): (decode_BrokerRegistrationChangeRecord_1, ('>iq', '>b')),
    ("BrokerRegistrationChangeRecord", 3, True): (decode_BrokerRegistrationChangeRecord_3, ('>iq', '>b')),
    ("BrokerRegistrationChangeRecord", 0, False): (encode_BrokerRegistrationChangeRecord_0, ('>iq', '>b')),
    ("BrokerRegistrationChangeRecord", 1, False): (encode_BrokerRegistrationChangeRecord_1, ('>iq', '>b')),
    ("BrokerRegistrationChangeRecord", 3, False): (encode_BrokerRegistrationChangeRecord_3, ('>iq', '>b', '>16s')),
    ("ConfigRecord", 0, True): (decode_ConfigRecord_0, ('>b',)),
    ("ConfigRecord", 0, False): (encode_ConfigRecord_0, ('>b',)),
    ("EndTransactionRecord", 0, True): (decode_EndTransactionRecord_0, ()),
    ("EndTransactionRecord", 0, False): (encode_EndTransactionRecord_0, ()),
    ("FeatureLevelRecord", 0, True): (decode_FeatureLevelRecord_0, ('>h',)),
    ("FeatureLevelRecord", 0, False): (encode_FeatureLevelRecord_0, ('>h',)),
    ("KRaftVersionRecord", 0, True): (decode_KRaftVersionRecord_0, ('>hh',)),
    ("KRaftVersionRecord", 0, False): (encode_KRaftVersionRecord_0, ('>hh',)),
    ("LeaderChangeMessage", 0, True): (decode_LeaderChangeMessage_0, ('>hi', '>i')),
    ("LeaderChangeMessage", 0, False): (encode_LeaderChangeMessage_0, ('>hi', '>i')),
    ("MetadataRequest", 1, True): (decode_MetadataRequest_1, ('>i', '>h')),
    ("MetadataRequest", 12, True): (decode_MetadataRequest_12, ('>16s', '>??')),
    ("MetadataRequest", 13, True): (decode_MetadataRequest_13, ('>16s', '>??')),
    ("MetadataResponse", 1, False): (encode_MetadataResponse_1, ('>i', '>ih', '>h', '>ii', '>hh', '>?i', '>hiii')),
    ("MetadataResponse", 12, False): (encode_MetadataResponse_12, ('>i', '>h', '>16s?', '>hiii')),
    ("MetadataResponse", 13, False): (encode_MetadataResponse_13, ('>i', '>h', '>16s?', '>hiii')),
    ("PartitionRecord", 2, True): (decode_PartitionRecord_2, ('>i16s', '>iii', '>b')),
    ("RegisterBrokerRecord", 4, True): (decode_RegisterBrokerRecord_4, ('>i?16sq', '>Hh', '>hh', '>??')),
    ("RegisterBrokerRecord", 4, False): (encode_RegisterBrokerRecord_4, ('>i?16sq', '>Hh', '>hh', '>??', '>16s')),
    ("RegisterControllerRecord", 0, True): (decode_RegisterControllerRecord_0, ('>i16s?', '>Hh', '>hh')),
    ("RegisterControllerRecord", 0, False): (encode_RegisterControllerRecord_0, ('>i16s?', '>Hh', '>hh')),
    ("SnapshotFooterRecord", 0, True): (decode_SnapshotFooterRecord_0, ('>h',)),
    ("SnapshotFooterRecord", 0, False): (encode_SnapshotFooterRecord_0, ('>h',)),
    ("SnapshotHeaderRecord", 0, True): (decode_SnapshotHeaderRecord_0, ('>hq',)),
    ("SnapshotHeaderRecord", 0, False): (encode_SnapshotHeaderRecord_0, ('>hq',)),
    ("TopicRecord", 0, True): (decode_TopicRecord_0, ('>16s',)),
    ("VotersRecord", 0, True): (decode_VotersRecord_0, ('>h', '>i16s', '>H', '>hh')),
    ("VotersRecord", 0, False): (encode_VotersRecord_0, ('>h', '>i16s', '>H', '>hh')),
}
