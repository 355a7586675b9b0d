"""The catalogue's notation, and that the catalogue is sound in itself."""

import collections
import keyword
from pathlib import Path

import pytest

from barnabas.protocol import messages, schema
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.schema import EMPTY, FieldSpec, StructSpec


def _all_structs() -> list[StructSpec]:
    return [struct for name in schema.index() for struct in schema.load(name).structs]


def test_versions_are_read_in_all_forms() -> None:
    assert schema.parse_versions("3") == range(3, 4)
    assert schema.parse_versions("3-5") == range(3, 6)
    assert schema.parse_versions("3+") == range(3, schema.FOREVER + 1)
    assert not schema.parse_versions("none")


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("MaxWaitMs", "max_wait_ms"),
        ("topicId", "topic_id"),
        ("KRaftVersionFeature", "kraft_version_feature"),
        ("TransactionV2Enabled", "transaction_v2_enabled"),
        ("Isr", "isr"),
    ],
)
def test_attributes_are_kafkas_names_in_snake_case(name: str, attribute: str) -> None:
    assert schema.attribute_name(name) == attribute


def test_a_field_line_says_all_of_a_field() -> None:
    request = schema.load("FetchRequest")
    fields = {field.name: field for field in request.root.fields}
    cluster_id = fields["ClusterId"]
    assert (cluster_id.type, cluster_id.tag, cluster_id.default, cluster_id.ignorable) == (
        "string",
        0,
        None,
        True,
    )
    assert 12 in cluster_id.nullable
    assert 11 not in cluster_id.tagged
    topics = fields["Topics"]
    assert topics.is_array
    assert topics.default == EMPTY
    assert topics.struct is not None
    assert topics.struct.class_name == "FetchRequestFetchTopic"


def test_shared_structs_are_one_struct() -> None:
    spec = schema.load("StreamsGroupHeartbeatRequest")
    found = [field.struct for struct in spec.structs for field in struct.fields if field.type == "TaskIds"]
    assert len(found) >= 3
    assert all(struct is found[0] for struct in found)


def test_every_file_is_indexed_word_for_word() -> None:
    heads = schema.index()
    files = {path.stem for path in Path(schema.CATALOGUE).glob("*.txt")} - {"index"}
    assert files == {head.file for head in heads.values()}
    for file in files:
        for name, message in schema.load_file(file).items():
            assert message.head == heads[name]


def test_class_names_are_unique() -> None:
    counts = collections.Counter(struct.class_name for struct in _all_structs())
    assert [name for name, count in counts.items() if count > 1] == []


def test_field_names_can_be_attributes() -> None:
    taken = {"encode", "encode_parts", "decode", "decode_from", "api_key", "valid_versions", "flexible_from"}
    for struct in _all_structs():
        names = [field.attribute for field in struct.fields]
        assert len(set(names)) == len(names), struct.class_name
        assert not any(keyword.iskeyword(name) for name in names), struct.class_name
        assert "unknown_tags" not in names, struct.class_name
    for name in schema.index():
        assert not taken & {field.attribute for field in schema.load(name).root.fields}, name


def _check_tags(owner: str, fields: list[FieldSpec]) -> None:
    tags = sorted(field.tag for field in fields if field.tag is not None)
    assert tags == list(range(len(tags))), owner


def test_tags_are_numbered_without_gaps() -> None:
    for struct in _all_structs():
        _check_tags(struct.class_name, struct.fields)


def test_only_flexible_versions_have_tagged_fields() -> None:
    for name, head in schema.index().items():
        for struct in schema.load(name).structs:
            for field in struct.fields:
                for version in head.versions:
                    assert version not in field.tagged or version in head.flexible, (name, field.name)


def test_request_and_response_of_an_api_agree() -> None:
    heads = schema.index()
    for api in messages.BY_KEY.values():
        response = heads[f"{api.name}Response"]
        assert response.kind == "response"
        assert response.key == api.key
        assert response.versions == api.valid_versions
        assert api.request.api_key == api.response.api_key == api.key


def test_api_keys_are_the_catalogues() -> None:
    assert {int(key) for key in ApiKey} == set(messages.BY_KEY)
    for key in ApiKey:
        assert key.name.replace("_", "").lower() == messages.BY_KEY[key].name.lower()


def test_a_broken_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.txt").write_text("00_produce\n  request ProduceRequest versions\n")
    monkeypatch.setattr(schema, "CATALOGUE", tmp_path)
    with pytest.raises(schema.CatalogueError, match="00_produce"):
        schema.Index()["ProduceRequest"]
