"""TVM kernels as text: te and topi through create_prim_func, relax operators through relax's virtual machine."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fuzz.backends.extraction import Extract, Unspellable, extract, literal
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.backends.tvm_host import host
from fuzz.backends.tvm_options import statements_by
from strategies.precision import precision

GUARDS = (
    "MARGIN, FILL, GUARDED = 4096, 0xA5, []",
    """def guarded(shape, kind):
    \"\"\"An output buffer as aligned as TVM's own, with MARGIN bytes of FILL on both sides, kept in GUARDED.\"\"\"
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.full(size + 2 * MARGIN + 64, FILL, np.uint8)
    start = -room.ctypes.data % 64
    whole = room[start : start + size + 2 * MARGIN]
    GUARDED.append(whole)
    return whole[MARGIN:-MARGIN].view(kind).reshape(shape)""",
)
INPUT = "input{}"
"""What the backend calls its inputs when it builds a function."""
_HOST = "str(tvm.target.Target.from_device('cpu').attrs['mcpu'])"


def spelled(wanted: Wanted) -> Spelling:
    """The kernel that TvmBackend.prepare would compile: its te body, else the relax operator it legalizes."""
    schedule = _schedule(wanted)
    body = getattr(wanted.implementation.function, "__wrapped__", None)
    if body is not None:
        found = extract(body, tuple(wanted.inputs), wanted.attributes)
        imports: tuple[str, ...] = ("from tvm import te", *found.imports)
        definitions, lines = found.definitions, _te(wanted, found, schedule)
    else:
        operation = _operation(wanted.implementation.function, wanted.inputs, wanted.attributes)
        imports, definitions = ("from tvm import relax",), ()
        lines = _lowered(wanted, operation, schedule) if schedule or wanted.guarded else _relax(wanted, operation)
    buffers = (*GUARDS, *definitions) if wanted.guarded else definitions
    return Spelling(
        imports=("import tvm", *(["from tvm import s_tir"] if schedule else []), *imports),
        definitions=(f"TARGET = tvm.target.Target({_target(wanted.options)})", *buffers),
        body=lines,
        versions=(("tvm", "tvm.__version__"),),
        settings=f"LLVM on the CPU, mcpu {wanted.options.get('mcpu', 'generic')}, "
        f"fma {wanted.options.get('fma', 'default')}, fast-math {wanted.options.get('fast_math', 'off')}"
        f"{', schedule as in the script' if schedule else ''}",
        requires=("tvm",),
    )


def _schedule(wanted: Wanted) -> tuple[str, ...]:
    """Statements that schedule `function`, as TVM records them; none for the function as it is."""

    def function() -> Any:
        arrays = [np.zeros(shape, precision(wanted.dtype).numpy) for shape in wanted.inputs.values()]
        return wanted.implementation.function(*arrays, **wanted.attributes)

    done = statements_by(wanted.options, function)
    return ("sch = s_tir.Schedule(function)", *done, "function = sch.mod['main']") if done else ()


def _target(options: Mapping[str, str]) -> str:
    wanted = {"kind": repr("llvm")}
    switches: list[str] = []
    if options.get("mcpu", "generic") == "host":
        wanted["mcpu"] = _HOST
        switches += host()[1]
    if (fma := options.get("fma", "default")) != "default":
        switches = [*(switch for switch in switches if switch != "-fma"), "+fma" if fma == "on" else "-fma"]
    if switches:
        wanted["mattr"] = repr(switches)
    if options.get("fast_math", "off") == "on":
        wanted["fast-math"] = "True"
    if len(wanted) == 1:
        return repr("llvm")
    return "{" + ", ".join(f"{key!r}: {value}" for key, value in wanted.items()) + "}"


def _te(wanted: Wanted, found: Extract, schedule: tuple[str, ...]) -> tuple[str, ...]:
    names = list(wanted.inputs)
    labels = _labels(names, schedule)
    placed = (
        f"{n} = te.placeholder({n}.shape, {n}.dtype.name, name={label!r})"
        for n, label in zip(names, labels, strict=True)
    )
    results = "*computed" if wanted.several else "computed"
    return (
        f"arrays = [{', '.join(names)}]",
        *placed,
        f"computed = {found.result}",
        f"function = te.create_prim_func([{', '.join([*names, results])}])",
        *schedule,
        *_called(wanted, "computed" if wanted.several else "[computed]", "arrays"),
    )


def _called(wanted: Wanted, results: str, arrays: str) -> tuple[str, ...]:
    """Compile `function` and call it on the NumPy arrays in `arrays`; `results` have the shapes of the outputs."""
    made = "tvm.runtime.empty([int(n) for n in t.shape], str(t.dtype))"
    if wanted.guarded:
        made = "tvm.runtime.from_dlpack(guarded([int(n) for n in t.shape], str(t.dtype)))"
    return (
        "function = function.with_attr('global_symbol', 'main')",
        "kernel = tvm.compile(tvm.IRModule({'main': function}), target=TARGET)['main']",
        f"results = [{made} for t in {results}]",
        f"kernel(*[tvm.runtime.tensor(a) for a in {arrays}], *results)",
        f"return results[{wanted.output}].numpy()",
    )


def _lowered(wanted: Wanted, operation: str, schedule: tuple[str, ...]) -> tuple[str, ...]:
    """The function that relax lowers to, which can be scheduled, called without relax's virtual machine."""
    names = list(wanted.inputs)
    return (
        f"arrays = [{', '.join(names)}]",
        *_built(names, operation, _labels(names, schedule)),
        "lowered = relax.transform.LegalizeOps()(builder.get())",
        "function = next(f for f in lowered.functions.values() if isinstance(f, tvm.tirx.PrimFunc))",
        *schedule,
        f"shapes = [parameter.ty for parameter in function.params][{len(names)}:]",
        *_called(wanted, "shapes", "arrays"),
    )


def _relax(wanted: Wanted, operation: str) -> tuple[str, ...]:
    names = list(wanted.inputs)
    return (
        f"tensors = [{', '.join(f'tvm.runtime.tensor({n})' for n in names)}]",
        *_built(names, operation, names),
        "machine = relax.VirtualMachine(tvm.compile(builder.get(), target=TARGET), tvm.cpu())",
        "return machine['main'](*tensors).numpy()",
    )


def _labels(names: Sequence[str], schedule: tuple[str, ...]) -> Sequence[str]:
    """What TVM calls the inputs. A trace names blocks, and TVM names blocks after inputs: those of the backend."""
    return [INPUT.format(i) for i in range(len(names))] if schedule else names


def _built(names: Sequence[str], operation: str, labels: Sequence[str]) -> tuple[str, ...]:
    """A relax function of one operator."""
    typed = (
        f"{n} = relax.Var({label!r}, relax.TensorType({n}.shape, {n}.dtype.name))"
        for n, label in zip(names, labels, strict=True)
    )
    return (
        *typed,
        "builder = relax.BlockBuilder()",
        f"with builder.function('main', [{', '.join(names)}]):",
        "    with builder.dataflow():",
        f"        computed = builder.emit_output(builder.emit({operation}))",
        "    builder.emit_func_output(computed)",
    )


def _operation(function: Callable[..., Any], inputs: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """`relax.op.nn.gelu(x)` from a function that ends with `return legalized("gelu", x)`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    last = tree.body[-1] if isinstance(tree, ast.FunctionDef) else None
    call = last.value if isinstance(last, ast.Return) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "legalized"):
        raise Unspellable("it is built by a function of its own")
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    name, module = ast.literal_eval(call.args[0]), "relax.op.nn"
    if "module" in keywords:
        module = ast.literal_eval(keywords.pop("module"))
    ranks = {name: len(shape) for name, shape in inputs.items()}
    given = [f"{key}={_value(value, attributes, ranks)}" for key, value in keywords.items()]
    return f"{module}.{name}({', '.join([*inputs, *given])})"


def _value(node: ast.expr, attributes: Mapping[str, Any], ranks: Mapping[str, int]) -> str:
    """The value of `axis` or `axis % x.ndim`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        left, right = _value(node.left, attributes, ranks), _value(node.right, attributes, ranks)
        return str(ast.literal_eval(left) % ast.literal_eval(right))
    if isinstance(node, ast.Name) and node.id in attributes:
        return literal(attributes[node.id])
    if isinstance(node, ast.Attribute) and node.attr == "ndim" and isinstance(node.value, ast.Name):
        return str(ranks[node.value.id])
    return literal(ast.literal_eval(node))
