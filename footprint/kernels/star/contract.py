"""Sums over a voxel and the six that share a side with it, as a volume's Laplacian is. No workspace.

``launch("star", volume, weights, out, z0=, y0=, x0=, border_z=, border_y=, border_x=, cval=)`` computes, with ``weights`` three
through the planes, three down and three across::

    out[z, y, x] = sum over i of weights[i] volume[z + z0 + i, y + y0 + 1, x + x0 + 1]
                 + sum over i of weights[3 + i] volume[z + z0 + 1, y + y0 + i, x + x0 + 1]
                 + sum over i of weights[6 + i] volume[z + z0 + 1, y + y0 + 1, x + x0 + i]

where every axis is continued beyond its ends as its border says (names of ``borders.BORDERS``, or "none" for an axis whose halo is
part of the array), beyond a constant one by ``cval``; the voxel itself lies inside. No other is looked at: not even 0 times a NaN
is added. All are 3-D and of one dtype, float32 or float64. The voxel's own three weights are added first; blocks equal the whole
to the last bit.
"""
