"""A tile of 4 x 16 squared distances, kept in vector registers.

This is the one place where machine code is spelled out: the compiler's own code for
the same loop is 2.5 times slower, because it keeps the sums in memory. The code
below is what this Python would do, sixteen points at a time::

    for chunk in chunks_of_eight(features):
        for r in range(4):
            sums[r] += sum((panel[f] - row[r][f]) ** 2 for f in chunk)
        if no sum is below its limit:      # and more features only add to it
            return 0
    return the mask of the sums below their limit

With the features in order of decreasing variance most tiles are left after the first
chunk or two. Sums are float32 and may be off by a relative ``(d + 4) * 2**-24``;
the callers allow for that.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

ROWS = 4
PANEL = 16  # points in a panel, stored feature by feature
CHUNK = 8

_FLOAT = ir.FloatType()
_INT = ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, PANEL)


def _tile_below(
    _typing_context: Any,
    rows: Any,
    panel: Any,
    n_features: Any,
    row_limits: Any,
    column_limits: Any,
    out: Any,
) -> Any:
    """Return which of 4 x 16 squared distances are below their limit.

    All arguments are int64: addresses of float32 arrays, and the number of features.
    ``rows`` has four points one after the other, ``panel`` sixteen feature by feature.
    Bit ``16 r + c`` of the uint64 result says that the distance of row r and point c
    is below the larger of ``row_limits[r]`` and ``column_limits[c]``; the distances
    are in ``out`` then. A NaN is never below anything.
    """
    signature = types.uint64(*[types.int64] * 6)

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _Emitter(builder).tile(*arguments)

    return signature, code


def _lowest_bit(_typing_context: Any, mask: Any) -> Any:
    """Return the position of the lowest bit that is set in a uint64."""
    signature = types.int64(types.uint64)

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return signature, code


tile_below: Any = intrinsic(_tile_below)
lowest_bit: Any = intrinsic(_lowest_bit)


class _Emitter:
    """Writes the tile's instructions into a function."""

    def __init__(self, builder: Any) -> None:
        self.b = builder
        self.fma = self._vector_function("llvm.fma", 3)
        self.maximum = self._vector_function("llvm.maxnum", 2)

    def tile(
        self,
        rows: Any,
        panel: Any,
        n_features: Any,
        row_limits: Any,
        column_limits: Any,
        out: Any,
    ) -> Any:
        b = self.b
        stride = b.mul(n_features, _INT(4))
        row_pointers = [
            b.inttoptr(b.add(rows, b.mul(stride, _INT(r))), _FLOAT.as_pointer())
            for r in range(ROWS)
        ]
        panel_pointer = b.inttoptr(panel, _FLOAT.as_pointer())
        limit_pointer = b.inttoptr(row_limits, _FLOAT.as_pointer())
        columns = self._load_vector(b.inttoptr(column_limits, _FLOAT.as_pointer()))
        limits = [
            b.call(
                self.maximum,
                [columns, self._splat(b.load(b.gep(limit_pointer, [_INT(r)])))],
            )
            for r in range(ROWS)
        ]
        entry = b.block
        chunk, feature, check, left, found, end = (
            b.append_basic_block(name)
            for name in ("chunk", "feature", "check", "left", "found", "end")
        )
        b.branch(chunk)

        # chunk: where the next eight features begin
        b.position_at_end(chunk)
        begin = b.phi(_INT)
        begin.add_incoming(_INT(0), entry)
        zero = ir.Constant(_VECTOR, [0.0] * PANEL)
        so_far = [b.phi(_VECTOR) for _ in range(ROWS)]
        for value in so_far:
            value.add_incoming(zero, entry)
        wanted = b.add(begin, _INT(CHUNK))
        stop = b.select(b.icmp_signed("<", wanted, n_features), wanted, n_features)
        b.branch(feature)

        # feature: one feature of all 64 pairs
        b.position_at_end(feature)
        index = b.phi(_INT)
        index.add_incoming(begin, chunk)
        sums = [b.phi(_VECTOR) for _ in range(ROWS)]
        for value, start in zip(sums, so_far, strict=True):
            value.add_incoming(start, chunk)
        points = self._load_vector(b.gep(panel_pointer, [b.mul(index, _INT(PANEL))]))
        added = []
        for pointer, value in zip(row_pointers, sums, strict=True):
            difference = b.fsub(points, self._splat(b.load(b.gep(pointer, [index]))))
            added.append(b.call(self.fma, [difference, difference, value]))
        following = b.add(index, _INT(1))
        index.add_incoming(following, feature)
        for value, new in zip(sums, added, strict=True):
            value.add_incoming(new, feature)
        b.cbranch(b.icmp_signed("<", following, stop), feature, check)

        # check: is any sum still below its limit?
        b.position_at_end(check)
        below = [
            b.fcmp_ordered("<", new, limit)
            for new, limit in zip(added, limits, strict=True)
        ]
        together = below[0]
        for bits in below[1:]:
            together = b.or_(together, bits)
        short = ir.IntType(PANEL)
        is_any = b.icmp_unsigned("!=", b.bitcast(together, short), short(0))
        b.cbranch(is_any, left, end)

        # left: are features left?
        b.position_at_end(left)
        begin.add_incoming(stop, left)
        for value, new in zip(so_far, added, strict=True):
            value.add_incoming(new, left)
        b.cbranch(b.icmp_signed("<", stop, n_features), chunk, found)

        # found: store the distances and collect the mask
        b.position_at_end(found)
        out_pointer = b.inttoptr(out, _FLOAT.as_pointer())
        mask = _INT(0)
        for r in range(ROWS):
            target = b.gep(out_pointer, [_INT(r * PANEL)])
            stored = b.store(added[r], b.bitcast(target, _VECTOR.as_pointer()))
            stored.align = 4
            bits = b.zext(b.bitcast(below[r], short), _INT)
            mask = b.or_(mask, b.shl(bits, _INT(r * PANEL)))
        b.branch(end)

        b.position_at_end(end)
        result = b.phi(_INT)
        result.add_incoming(_INT(0), check)
        result.add_incoming(mask, found)
        return result

    def _vector_function(self, name: str, n_arguments: int) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * n_arguments)
        full_name = f"{name}.v{PANEL}f32"
        get_or_insert: Any = cgutils.get_or_insert_function
        return get_or_insert(self.b.module, kind, full_name)

    def _load_vector(self, pointer: Any) -> Any:
        return self.b.load(self.b.bitcast(pointer, _VECTOR.as_pointer()), align=4)

    def _splat(self, scalar: Any) -> Any:
        """Return a vector that holds the scalar sixteen times."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.b.insert_element(undefined, scalar, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), PANEL), [0] * PANEL)
        return self.b.shuffle_vector(first, undefined, zeros)
