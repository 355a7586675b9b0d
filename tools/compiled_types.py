"""What the compiler has to know of the hot modules, drawn from their sources by `tools/compile.py`.

A class that names its attributes in `__slots__` and derives from nothing but such classes can be a struct:
its attributes are then read at a fixed place, and a function that knows what it has in hand calls its
methods as C does. Sources say all of that already, in slots and annotations, but they say more: that a
number is an int (or an ErrorCode, which is one), that something is a Protocol. So each hot module is parsed,
and two files are made of it with every build:

- a .pxd that declares its structs, their attributes, and of its functions and methods those that C can call;
- its source, line by line the same, so that tracebacks show the right ones, in which an annotation stays only
  where it names a struct. Of what is annotated so, Cython checks the class, as Python would not.

Rejected: declarations by hand, to be kept in step with every change. Decorators and types of Cython in the
sources: they would be read by everybody for a build that few make.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_NOT_IN_C = (
    *FUNCTIONS, ast.ClassDef, ast.Lambda, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal,
)  # fmt: skip
"""What a function that C can call may not have within: Cython makes no closures there."""

_SEQUENCES = ("Sequence", "Iterable", "list", "deque")

ClassName = tuple[str, str]
"""Module (`net.connection`) and name."""


@dataclass(slots=True)
class Edit:
    """Another text for a part of a source; places as in `ast`: lines from 1, columns in bytes of UTF-8."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(slots=True)
class StructClass:
    """A class that becomes a struct; `slots` without those of its base."""

    node: ast.ClassDef
    base: ClassName | None
    slots: tuple[str, ...]


@dataclass(slots=True)
class HotModule:
    """A module to compile.

    Attributes:
        imports: what is imported from the package, by the name here.
        at_run_time: names of those that are not for type checkers only.
        structs, functions: by name, those that get a declaration.
        mentioned: the structs that annotations and declarations name.
    """

    name: str
    source: str
    tree: ast.Module
    imports: dict[str, ClassName]
    at_run_time: set[str]
    structs: dict[str, StructClass] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    mentioned: set[ClassName] = field(default_factory=set)


class Declarations:
    """What is known of all hot modules together.

    Args:
        folder: where the package `barnabas` lies.
        names: of the modules, `net/connection`.
        doubled: classes, `net.connection.Connection`, for which tests give others: whatever is said to be
            one of these is not relied upon to be.
        plain: classes, functions and methods that stay Python's.
    """

    def __init__(
        self,
        folder: Path,
        names: Iterable[str],
        *,
        doubled: frozenset[str] = frozenset(),
        plain: frozenset[str] = frozenset(),
    ) -> None:
        self._doubled = doubled
        self._plain = plain
        self._modules = {module.name: module for module in (_parsed(folder, name) for name in names)}
        # What is handed on as a value, and not called there and then, stays an object.
        self._values = {node for module in self._modules.values() for node in _named_as_values(module.tree)}
        # What a class extends by way of `super` stays one, too: C would have its subclasses' called as C.
        self._values |= {name for module in self._modules.values() for name in _extended(module.tree)}
        for module in self._modules.values():
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef):
                    self._take_class(module, node)
                elif isinstance(node, ast.FunctionDef) and self._is_for_c(node, f"{module.name}.", ""):
                    module.functions[node.name] = node

    def structs(self) -> list[str]:
        """Return all classes that become structs, as `net.connection.Connection`."""
        return sorted(f"{module.name}.{name}" for module in self._modules.values() for name in module.structs)

    def of(self, name: str) -> tuple[str, str]:
        """Return a module's source as it is compiled, and its .pxd. `name` is as `net.connection`."""
        module = self._modules[name]
        edited = self._edited(module)
        declared = [
            *(line for one in module.structs for line in self._struct(module, one)),
            *(f"cpdef {self._signature(module, node)}" for node in module.functions.values()),
        ]
        cimports = [f"from barnabas.{origin} cimport {one}" for origin, one in self._cimported(module)]
        return edited + _names_again(module, self._cimported(module)), "\n".join([*cimports, *declared, ""])

    # What becomes of what ---------------------------------------------------------------------------

    def _take_class(self, module: HotModule, node: ast.ClassDef) -> None:
        slots = _slots_of(node)
        if (
            slots is None
            or node.keywords
            or len(node.bases) > 1
            or f"{module.name}.{node.name}" in self._plain
        ):
            return
        if any(not (isinstance(one, ast.Name) and one.id == "final") for one in node.decorator_list):
            return
        if any(isinstance(one, FUNCTIONS) and one.name == "__new__" for one in node.body):
            return
        base = self._struct_named(module, node.bases[0]) if node.bases else None
        if base is not None or not node.bases:
            module.structs[node.name] = StructClass(node, base, slots)

    def _struct_named(self, module: HotModule, node: ast.expr) -> ClassName | None:
        if not isinstance(node, ast.Name):
            return None
        if node.id in module.structs:
            return module.name, node.id
        origin = module.imports.get(node.id)
        other = None if origin is None or origin[1] != node.id else self._modules.get(origin[0])
        if other is None:
            return None
        if node.id not in other.structs:
            # Perhaps it is not reached yet.
            for found in other.tree.body:
                if isinstance(found, ast.ClassDef) and found.name == node.id:
                    self._take_class(other, found)
        return origin if node.id in other.structs else None

    def _is_for_c(self, node: ast.FunctionDef, within: str, dot: str) -> bool:
        """Tell whether C can call a function, or with a dot a method."""
        arguments = node.args
        return (
            dot + node.name not in self._values
            and within + node.name not in self._plain
            and not node.name.startswith("__")
            and not node.decorator_list
            and not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs)
            and not any(_is_not_in_c(one) for one in ast.walk(node) if one is not node)
        )

    def _methods(self, module: HotModule, name: str) -> Iterator[ast.FunctionDef]:
        for node in module.structs[name].node.body:
            if isinstance(node, ast.FunctionDef) and self._is_for_c(node, f"{module.name}.{name}.", "."):
                yield node

    def _type(self, module: HotModule, node: ast.expr | None) -> ClassName | None:
        """Return the struct that an annotation names, alone or with None, and remember it."""
        node = _parsed_annotation(node)
        if isinstance(node, ast.BinOp) and ast.unparse(node.right) == "None":
            node = node.left
        found = None if node is None else self._struct_named(module, node)
        if found is None or ".".join(found) in self._doubled:
            return None
        module.mentioned.add(found)
        return found

    def _cimported(self, module: HotModule) -> list[ClassName]:
        """Return what other hot modules declare and this one uses: structs, and functions that it imports."""
        functions = {
            (origin, original)
            for local, (origin, original) in module.imports.items()
            if local == original and origin in self._modules and original in self._modules[origin].functions
        }
        return sorted(one for one in module.mentioned | functions if one[0] != module.name)

    # The declarations ----------------------------------------------------------------------------------

    def _struct(self, module: HotModule, name: str) -> Iterator[str]:
        found = module.structs[name]
        if found.base is not None:
            module.mentioned.add(found.base)
        yield f"cdef class {name}{'' if found.base is None else f'({found.base[1]})'}:"
        said = _attribute_annotations(found.node)
        for slot in found.slots:
            type_ = self._type(module, said.get(slot))
            if slot == "__weakref__":
                yield "    cdef object __weakref__"
            else:
                yield f"    cdef public {'object' if type_ is None else type_[1]} {slot}"
        for node in self._methods(module, name):
            yield f"    cpdef {self._signature(module, node)}"
        yield "    pass"

    def _signature(self, module: HotModule, node: ast.FunctionDef) -> str:
        arguments = []
        without_default = len(node.args.args) - len(node.args.defaults)
        for number, argument in enumerate(node.args.args):
            type_ = self._type(module, argument.annotation)
            text = argument.arg if type_ is None else f"{type_[1]} {argument.arg}"
            arguments.append(text if number < without_default else f"{text}=*")
        returned = self._type(module, node.returns)
        return f"{'' if returned is None else f'{returned[1]} '}{node.name}({', '.join(arguments)})"

    # The source ----------------------------------------------------------------------------------------

    def _edited(self, module: HotModule) -> str:
        edits: list[Edit] = []
        declared = {id(node) for node in module.functions.values()}
        for name, found in module.structs.items():
            declared |= {id(node) for node in self._methods(module, name)}
            for node in found.node.body:
                if isinstance(node, ast.AnnAssign) and node.value is None:
                    edits.append(Edit(*_start(node), *_end(node), "pass"))
        for inner in ast.walk(module.tree):
            if isinstance(inner, FUNCTIONS):
                edits += self._edits_of_signature(module, inner, is_declared=id(inner) in declared)
                edits += self._edits_of_locals(module, inner)
        return _apply(module.source, edits)

    def _edits_of_signature(
        self, module: HotModule, node: ast.FunctionDef | ast.AsyncFunctionDef, *, is_declared: bool
    ) -> Iterator[Edit]:
        arguments = node.args
        for one in (
            *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg
        ):  # fmt: skip
            if one is not None and one.annotation is not None:
                line, column = _start(one)
                text = "" if is_declared else self._annotation(module, one.annotation)
                yield Edit(line, column + len(one.arg.encode()), *_end(one.annotation), text)
        if node.returns is not None:
            line, column = _start(node.returns)
            arrow = module.source.splitlines()[line - 1].encode()[:column].rindex(b"->")
            yield Edit(line, arrow, *_end(node.returns), "")

    def _edits_of_locals(
        self, module: HotModule, node: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> Iterator[Edit]:
        said = {one.arg: one.annotation for one in [*node.args.args, *node.args.kwonlyargs]}
        for inner in _within(node):
            if isinstance(inner, ast.AnnAssign):
                text = ""
                if isinstance(inner.target, ast.Name):
                    said[inner.target.id] = inner.annotation
                    text = self._annotation(module, inner.annotation)
                if inner.value is None and not text:
                    yield Edit(*_start(inner), *_end(inner), "pass")
                else:
                    yield Edit(*_end(inner.target), *_end(inner.annotation), text)
        yield from self._edits_for_loops(module, node, said)

    def _edits_for_loops(
        self,
        module: HotModule,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        said: dict[str, ast.expr | None],
    ) -> Iterator[Edit]:
        """Say what a loop over a sequence of structs runs through, which Cython does not see from that."""
        items: dict[str, str] = {}
        for inner in _within(node):
            if (
                isinstance(inner, ast.For)
                and isinstance(inner.iter, ast.Name)
                and isinstance(inner.target, ast.Name)
                and inner.target.id not in said
            ):
                sequence = _parsed_annotation(said.get(inner.iter.id))
                if isinstance(sequence, ast.Subscript) and ast.unparse(sequence.value) in _SEQUENCES:
                    type_ = self._type(module, sequence.slice)
                    if type_ is not None:
                        items[inner.target.id] = type_[1]
        text = "; ".join(f"{name}: {type_}" for name, type_ in items.items())
        first = node.body[0]
        if not items:
            return
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield Edit(*_end(first), *_end(first), f"; {text}")
        elif isinstance(first, ast.Assign | ast.Expr):
            yield Edit(*_start(first), *_start(first), f"{text}; ")

    def _annotation(self, module: HotModule, node: ast.expr) -> str:
        type_ = self._type(module, node)
        if type_ is None:
            return ""
        return f": {type_[1]} | None" if "None" in ast.unparse(node) else f": {type_[1]}"


def _parsed(folder: Path, name: str) -> HotModule:
    source = (folder / "barnabas" / f"{name}.py").read_text()
    tree = ast.parse(source)
    imports = {}
    at_run_time = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("barnabas."):
            origin = str(node.module).removeprefix("barnabas.")
            for alias in node.names:
                imports[alias.asname or alias.name] = (origin, alias.name)
                if node in tree.body:
                    at_run_time.add(alias.asname or alias.name)
    return HotModule(name.replace("/", "."), source, tree, imports, at_run_time)


def _parsed_annotation(node: ast.expr | None) -> ast.expr | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.parse(node.value, mode="eval").body
    return node


def _is_not_in_c(node: ast.AST) -> bool:
    # Without arguments `super` looks for a cell that a method which C can call has not.
    return isinstance(node, _NOT_IN_C) or _is_super(node)


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "super"


def _named_as_values(tree: ast.Module) -> Iterator[str]:
    """Names, and attributes as `.name`, that are read and not called there and then."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if id(node) not in called:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield f".{node.attr}"
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node.id


def _extended(tree: ast.Module) -> Iterator[str]:
    """Names of methods that call `super`, as `.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, FUNCTIONS) and any(_is_super(one) for one in ast.walk(method)):
                    yield f".{method.name}"


def _slots_of(node: ast.ClassDef) -> tuple[str, ...] | None:
    """Return a class's slots, or without them, and without a base, what it gives itself in any method."""
    for one in node.body:
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            if isinstance(target, ast.Name) and target.id == "__slots__":
                value = ast.literal_eval(one.value)
                return (value,) if isinstance(value, str) else tuple(value)
    own = [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and _is_given_to_self(one)]
    return None if node.bases else tuple(dict.fromkeys(own)) or None


def _is_given_to_self(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _attribute_annotations(node: ast.ClassDef) -> dict[str, ast.expr]:
    """Return what a class says of its attributes: in its body, in methods, by parameters of `__init__`."""
    said: dict[str, ast.expr] = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            said[one.target.id] = one.annotation
        if not isinstance(one, ast.FunctionDef):
            continue
        parameters = {each.arg: each.annotation for each in [*one.args.args, *one.args.kwonlyargs]}
        for inner in ast.walk(one):
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Attribute):
                if _is_given_to_self(inner.target):
                    said[inner.target.attr] = inner.annotation
            elif isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Attribute):
                target, value = inner.targets[0], inner.value
                annotation = parameters.get(value.id) if isinstance(value, ast.Name) else None
                if one.name == "__init__" and _is_given_to_self(target) and annotation is not None:
                    said.setdefault(target.attr, annotation)
    return said


def _names_again(module: HotModule, cimported: list[ClassName]) -> str:
    """Give the module the names that C finds elsewhere now, for whoever imports them from here."""
    lines = [
        f'globals()["{name}"] = _modules["barnabas.{origin}"].{name}\n'
        for origin, name in cimported
        if name in module.at_run_time
    ]
    return "".join(["from sys import modules as _modules\n", *lines]) if lines else ""


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in a function, save what belongs to functions and classes within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            yield child
            yield from _within(child)


def _start(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _apply(source: str, edits: list[Edit]) -> str:
    """Apply edits that do not overlap; no line moves."""
    lines = [line.encode() for line in source.splitlines()]
    for edit in sorted(edits, key=lambda one: (one.line, one.column), reverse=True):
        rest = lines[edit.end_line - 1][edit.end_column :]
        begun = lines[edit.line - 1][: edit.column] + edit.text.encode()
        for number in range(edit.line, edit.end_line):
            lines[number - 1], begun = begun + b" \\", b""
        lines[edit.end_line - 1] = begun + rest
    return "".join(line.decode() + "\n" for line in lines)
