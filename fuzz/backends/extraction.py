"""The source text of a formulation as it would be typed: names resolved, the engine's helpers written out.

What a kernel runs is its registered function. Its text is taken from there, so that a stand-alone script computes what
the campaign computed, whatever becomes of the formulation later.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.backends.base import Lazy, Unsupported

_OWN = ("fuzz.", "strategies.", "results.")
_USUAL = {"jax.numpy": "jnp", "torch.nn.functional": "F", "numpy": "np"}


class Unspellable(Exception):
    """There is no text for a kernel. The message says why, in a few words."""


class Extract(Struct, frozen=True):
    """The text of a function of named inputs with its attributes filled in."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    """Statements that come before it, in order."""
    statements: tuple[str, ...]
    """What is to be done before the result exists; empty where it is one expression."""
    result: str
    """The expression that is the result; empty where `statements` write it into `out`."""


def extract(function: Callable[..., Any], names: Sequence[str], attributes: Mapping[str, Any]) -> Extract:
    """`function` applied to inputs called `names`. Unspellable where its source cannot be found or written out."""
    return _Extractor().call(function, names, attributes)


def import_line(module: str, name: str) -> str:
    """The statement that makes `module` known as `name`."""
    parent, _, last = module.rpartition(".")
    if module == name:
        return f"import {module}"
    return f"from {parent} import {last}" if last == name else f"import {module} as {name}"


def module_name(module: str) -> str:
    """What a module is usually called in code."""
    return _USUAL.get(module, module.rpartition(".")[2])


def literal(value: Any) -> str:
    """Text of a number, string, bool, tuple or dict of these that reads as the same value; nan as float("nan")."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, tuple | list):
        inside = ", ".join(map(literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


class _Extractor:
    """Collects what one function needs."""

    def __init__(self) -> None:
        self.imports: dict[str, None] = {}
        self.definitions: dict[str, str] = {}
        self._busy: set[str] = set()

    def call(self, function: Callable[..., Any], names: Sequence[str], attributes: Mapping[str, Any]) -> Extract:
        definition, closure = _parsed(function)
        body = _Plain(closure | dict(attributes), _renamed(definition, names)).body(definition.body)
        keywords = [argument.arg for argument in definition.args.kwonlyargs]
        if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
            self._resolve(body, function, closure, set(names))
            return self._found((), ast.unparse(body[0].value))
        if len(body) == 1 and isinstance(body[0], ast.Expr) and "out" in keywords:
            self._resolve(body, function, closure, {*names, "out"})
            return self._found((ast.unparse(body[0]),), "")
        name = self.define(function)
        given = [f"{key}={literal(value)}" for key, value in attributes.items()]
        if "out" in keywords:
            return self._found((f"{name}({', '.join([*names, *given, 'out=out'])})",), "")
        return self._found((), f"{name}({', '.join([*names, *given])})")

    def define(self, function: Callable[..., Any]) -> str:
        """Add the definition of a function behind those of what it needs; its name."""
        definition, closure = _parsed(function)
        name = definition.name
        if name not in self.definitions and name not in self._busy:
            self._busy.add(name)
            definition.body = _Plain(closure, {}).body(definition.body)
            self._resolve(definition.body, function, closure, {a.arg for a in _arguments(definition)})
            self.definitions[name] = ast.unparse(ast.fix_missing_locations(definition))
        return name

    def _found(self, statements: tuple[str, ...], result: str) -> Extract:
        return Extract(tuple(self.imports), tuple(self.definitions.values()), statements, result)

    def _resolve(
        self, body: Sequence[ast.stmt], function: Callable[..., Any], closure: Mapping[str, Any], local: set[str]
    ) -> None:
        """Import or define every name that `body` reads and does not bind itself."""
        modules = {module_name(value._module): value for value in closure.values() if isinstance(value, Lazy)}
        known = {**function.__globals__, **closure, **modules, "np": np}
        for name in _free(body, local):
            if name in known:
                self._provide(name, known[name])
            elif not hasattr(builtins, name):
                raise Unspellable(f"its source reads {name!r}, which is defined nowhere")

    def _provide(self, name: str, value: Any) -> None:
        if isinstance(value, Lazy):
            self.imports[import_line(value._module, name)] = None
        elif isinstance(value, ModuleType):
            self.imports[import_line(value.__name__, name)] = None
        elif value is Unsupported:
            self.definitions.setdefault(name, f"{name} = NotImplementedError")
        elif isinstance(value, FunctionType) and value.__module__.startswith(_OWN):
            self.define(value)
        elif callable(value):
            module, own = getattr(value, "__module__", ""), getattr(value, "__name__", "")
            if not module or module.startswith(_OWN) or "<" in own:
                raise Unspellable(f"its source needs {name!r} of this program")
            self.imports[f"from {module} import {own}" + (f" as {name}" if own != name else "")] = None
        elif isinstance(value, bool | int | float | str | tuple | dict):
            self.definitions.setdefault(name, f"{name} = {literal(value)}")
        else:
            raise Unspellable(f"its source needs {name!r}, a {type(value).__name__} of this program")


def _parsed(function: Callable[..., Any]) -> tuple[ast.FunctionDef, dict[str, Any]]:
    """The definition of a function without annotations, decorators and docstring, and what it is closed over."""
    if not isinstance(function, FunctionType):
        raise Unspellable(f"it is a {type(function).__name__}, not a plain function")
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise Unspellable("its source is not on disk") from None
    try:
        tree = ast.parse(source).body[0]
    except SyntaxError:  # a lambda in the middle of a statement
        raise Unspellable("it is a part of a statement, not a function of its own") from None
    if not isinstance(tree, ast.FunctionDef) or tree.name != function.__name__:
        raise Unspellable("it is a part of a statement, not a function of its own")
    tree.decorator_list, tree.returns = [], None
    for argument in _arguments(tree):
        argument.annotation = None
    if len(tree.body) > 1 and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    cells = function.__closure__ or ()
    return tree, {n: cell.cell_contents for n, cell in zip(function.__code__.co_freevars, cells, strict=True)}


def _arguments(definition: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    a = definition.args
    return [*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs]


def _renamed(definition: ast.FunctionDef, names: Sequence[str]) -> dict[str, Any]:
    """Parameters -> the names of the inputs; those behind a star as a list."""
    own = [argument.arg for argument in (*definition.args.posonlyargs, *definition.args.args)]
    found: dict[str, Any] = dict(zip(own, names, strict=False))
    if definition.args.vararg:
        found[definition.args.vararg.arg] = list(names[len(own) :])
    return found


class _Plain(ast.NodeTransformer):
    """Fills in constants and names, drops annotations, and folds getattr(module, "name") to module.name."""

    def __init__(self, constants: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        self._constants, self._names = constants, names

    def body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [ast.fix_missing_locations(self.visit(statement)) for statement in statements]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[node.target], value=node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in _arguments(node):
            argument.annotation = None
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.id in self._constants:
            return self._constant(node, self._constants[node.id])
        renamed = self._names.get(node.id)
        return ast.Name(renamed, ast.Load()) if isinstance(renamed, str) else node

    def _constant(self, node: ast.Name, value: Any) -> ast.AST:
        if isinstance(value, np.ufunc):
            return ast.parse(f"np.{value.__name__}", mode="eval").body
        if isinstance(value, Lazy):
            return ast.Name(module_name(value._module), ast.Load())
        if isinstance(value, bool | int | float | str | tuple):
            return ast.parse(literal(value), mode="eval").body
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        starred: list[ast.expr] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name):
                many = self._names.get(argument.value.id)
                if isinstance(many, list):
                    starred += [ast.Name(name, ast.Load()) for name in many]
                    continue
            starred.append(argument)
        node.args = starred
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2:
            module, name = node.args
            if isinstance(name, ast.Constant) and str(name.value).isidentifier():
                return ast.Attribute(module, str(name.value), ast.Load())
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):  # axis % 2
            try:
                return ast.Constant(ast.literal_eval(node.left) % ast.literal_eval(node.right))
            except (ValueError, TypeError, ZeroDivisionError):
                return node
        return node


def _free(body: Sequence[ast.stmt], local: set[str]) -> Iterator[str]:
    """Names that are read and bound nowhere inside, each once."""
    bound = set(local)
    read: dict[str, None] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    read[node.id] = None
                else:
                    bound.add(node.id)
            elif isinstance(node, ast.FunctionDef):
                bound |= {node.name, *(a.arg for a in _arguments(node))}
            elif isinstance(node, ast.Lambda):
                bound |= {a.arg for a in _arguments(node)}
    yield from (name for name in read if name not in bound)
