"""TVM kernels as text: te and topi through create_prim_func, relax operators through relax's virtual machine."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from fuzz.backends.extraction import Extract, Unspellable, extract, literal
from fuzz.backends.spelling import Spelling, Wanted
from fuzz.backends.tvm_host import host

_HOST = "str(tvm.target.Target.from_device('cpu').attrs['mcpu'])"


def spelled(wanted: Wanted) -> Spelling:
    """The kernel that TvmBackend.prepare would compile: its te body, else the relax operator it legalizes."""
    if any(wanted.options.get(name) for name in ("schedule", "unsafe_schedule")):
        raise Unspellable("a schedule has no text there: `ulpfuzz repro --source` prints the scheduled program")
    body = getattr(wanted.implementation.function, "__wrapped__", None)
    if body is not None:
        found = extract(body, tuple(wanted.inputs), wanted.attributes)
        imports: tuple[str, ...] = ("from tvm import te", *found.imports)
        definitions, lines = found.definitions, _te(wanted, found)
    else:
        imports, definitions = ("from tvm import relax",), ()
        lines = _relax(wanted, _operation(wanted.implementation.function, wanted.inputs, wanted.attributes))
    return Spelling(
        imports=("import tvm", *imports),
        definitions=(f"TARGET = tvm.target.Target({_target(wanted.options)})", *definitions),
        body=lines,
        versions=(("tvm", "tvm.__version__"),),
        settings=f"LLVM on the CPU, mcpu {wanted.options.get('mcpu', 'generic')}, "
        f"fma {wanted.options.get('fma', 'default')}, fast-math {wanted.options.get('fast_math', 'off')}",
        requires=("tvm",),
    )


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


def _te(wanted: Wanted, found: Extract) -> tuple[str, ...]:
    names = list(wanted.inputs)
    placed = (f"{n} = te.placeholder({n}.shape, {n}.dtype.name, name={n!r})" for n in names)
    results, tensors = (["*computed"], "computed") if wanted.several else (["computed"], "[computed]")
    return (
        f"arrays = [{', '.join(names)}]",
        *placed,
        f"computed = {found.result}",
        f"function = te.create_prim_func([{', '.join([*names, *results])}]).with_attr('global_symbol', 'main')",
        "kernel = tvm.compile(tvm.IRModule({'main': function}), target=TARGET)['main']",
        f"results = [tvm.runtime.empty([int(n) for n in t.shape], str(t.dtype)) for t in {tensors}]",
        "kernel(*[tvm.runtime.tensor(a) for a in arrays], *results)",
        f"return results[{wanted.output}].numpy()",
    )


def _relax(wanted: Wanted, operation: str) -> tuple[str, ...]:
    names = list(wanted.inputs)
    typed = (f"{n} = relax.Var({n!r}, relax.TensorType({n}.shape, {n}.dtype.name))" for n in names)
    return (
        f"tensors = [{', '.join(f'tvm.runtime.tensor({n})' for n in names)}]",
        *typed,
        "builder = relax.BlockBuilder()",
        f"with builder.function('main', [{', '.join(names)}]):",
        "    with builder.dataflow():",
        f"        computed = builder.emit_output(builder.emit({operation}))",
        "    builder.emit_func_output(computed)",
        "machine = relax.VirtualMachine(tvm.compile(builder.get(), target=TARGET), tvm.cpu())",
        "return machine['main'](*tensors).numpy()",
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
