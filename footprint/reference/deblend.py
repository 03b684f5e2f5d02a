"""Deblending by a sorted list of pixels: each joins the basin of its highest neighbour, and where basins meet branches end."""

import numpy as np


def deblend(
    image: np.ndarray, noise: float, background: float, flood: float, seed: float, connectivity: int = 8, contrast: float = 0.002,
    prominence: float = 1.5, min_area: int = 1, shallow: float = 0.6, beamed: tuple[int, ...] = (1, 0),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return the label image, the island of each source and its number in the island."""
    z = np.asarray(image, np.float64) - background
    height, width = z.shape
    steps = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    with np.errstate(invalid="ignore"):
        marked = np.flatnonzero(np.isfinite(z) & (z > flood * noise))
    order = marked[np.lexsort((marked, -z.ravel()[marked]))].tolist()
    rank = {pixel: at for at, pixel in enumerate(order)}

    def higher(pixel: int) -> list[int]:
        y, x = divmod(pixel, width)
        around = [(dy, dx) for dy, dx in steps if 0 <= y + dy < height and 0 <= x + dx < width]
        if connectivity == 4:
            around = [(dy, dx) for dy, dx in around if pixel + dx in rank or pixel + dy * width in rank]
        near = [(y + dy) * width + x + dx for dy, dx in around]
        return [other for other in near if rank.get(other, len(order)) < rank[pixel]]

    basin: dict[int, int] = {}
    for pixel in order:
        above = higher(pixel)
        basin[pixel] = basin[min(above, key=rank.__getitem__)] if above else pixel
    # A tree of summits: those that have met, and for each the source it belongs to. A tree is called by its highest summit.
    trees = {summit: {summit} for summit in set(basin.values())}
    tree = {summit: summit for summit in trees}
    source = dict(tree)
    area = dict.fromkeys(trees, 0)
    for summit in basin.values():
        area[summit] += 1

    def move(old: int, new: int) -> None:
        for summit, one in source.items():
            source[summit] = new if one == old else one

    def apart(one: int, other: int) -> int:
        return (one // width - other // width) ** 2 + (one % width - other % width) ** 2

    for pixel in order:
        for other in higher(pixel):
            a, b = basin[other], basin[pixel]
            if tree[a] == tree[b]:
                continue
            if rank[tree[a]] > rank[tree[b]]:
                a, b = b, a
            old, new = tree[a], tree[b]
            of_old, of_new = ({source[s] for s in trees[t]} for t in (old, new))
            like = sum(area[s] for s in trees[new]), apart(new, pixel), apart(new, source[a])
            points = all(low <= value <= high for low, value, high in zip(beamed[::2], like, beamed[1::2]))
            depth = shallow if points else prominence
            top, under = z.flat[new], max(depth * noise, contrast * z.flat[old])
            stands = top > seed * noise and top - z.flat[pixel] > under and sum(area[s] for s in trees[new]) >= min_area
            if not stands and len(of_new) == 1:
                move(source[new], source[a])
            elif len(of_old) == 1 and sum(area[s] for s in trees[old]) < min_area:
                move(source[old], source[b])
            trees[old] |= trees.pop(new)
            tree.update(dict.fromkeys(trees[old], old))
    first = {top: min(p for p in order if tree[basin[p]] == top) for top in trees}
    large = [t for t in sorted(trees, key=first.__getitem__) if sum(area[s] for s in trees[t]) >= min_area]
    kept = [sorted({source[s] for s in trees[t]}, key=rank.__getitem__) for t in large if z.flat[t] > seed * noise]
    rows = [(i, n, s) for i, some in enumerate(kept, 1) for n, s in enumerate(some, 1)]
    number = {s: k for k, (_, _, s) in enumerate(rows, 1)}
    labels = np.zeros(z.size, np.int32)
    for pixel in order:
        labels[pixel] = number.get(source[basin[pixel]], 0)
    return labels.reshape(z.shape), np.array([i for i, _, _ in rows], int), np.array([n for _, n, _ in rows], int)
