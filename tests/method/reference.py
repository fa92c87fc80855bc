"""The whole vote once more, formula by formula, in dense numpy: the slow twin of `segvote.method.vote`."""

import numpy as np
from scipy.special import expit


def vote_slowly(X, y, images, geometry, k=40, n_steps=60, border=0.9, smoothing=0.4):
    n, names = len(X), np.unique(images)
    # Votes of the k nearest segments of other images.
    d2 = ((X[:, None] - X[None]) ** 2).sum(-1)
    d2[images[:, None] == images] = np.inf
    M = np.zeros((n, n))
    for i in range(n):
        near = np.argsort(d2[i], kind="stable")[:k]
        votes = np.exp(-(d2[i, near] - d2[i, near[0]]) / (2 * d2[i, near[-1]] / 4))
        M[i, near] = votes / votes.sum()
    # Adjacent segments that look alike.
    A = np.zeros((n, n))
    for (i, j), length, contrast in zip(geometry.edges, geometry.lengths, geometry.contrasts, strict=True):
        A[i, j] = A[j, i] = length * np.exp(-(contrast**2) / 200)
    A /= A.sum(1, keepdims=True)
    smooth = lambda v: (1 - smoothing) * v + smoothing * A @ v  # noqa: E731
    share = geometry.areas / np.array([geometry.areas[images == i].sum() for i in images])
    # Boundary connectivity.
    D = np.full((n, n), np.inf)
    np.fill_diagonal(D, 0)
    for (i, j), contrast in zip(geometry.edges, geometry.contrasts, strict=True):
        D[i, j] = D[j, i] = max(contrast - 3, 1e-6)
    for m in range(n):
        D = np.minimum(D, D[:, [m]] + D[[m]])
    S = np.exp(-(D**2) / 200)
    connectivity = 1 - np.exp(-((S @ geometry.border / np.sqrt(S @ geometry.areas)) ** 2) / 2)

    def otsu(values, areas):
        order = np.argsort(values, kind="stable")
        best = (-1.0, values.min())
        for cut in range(1, len(values)):
            low, high = order[:cut], order[cut:]
            if values[high[0]] <= values[low[-1]]:
                continue
            gap = np.average(values[high], weights=areas[high]) - np.average(values[low], weights=areas[low])
            between = areas[low].sum() * areas[high].sum() / areas.sum() ** 2 * gap**2
            best = max(best, (between, (values[low[-1]] + values[high[0]]) / 2))
        spread = np.average((values - np.average(values, weights=areas)) ** 2, weights=areas)
        return best[1], best[0] / spread

    def select(v):
        chosen = np.zeros(n, dtype=bool)
        for image in names[[y[images == i][0] for i in names]]:
            own = np.flatnonzero(images == image)
            chosen[own] = v[own] > otsu(v[own], geometry.areas[own])[0]
            chosen[own[np.argmax(v[own])]] = True
        return chosen

    def separate(v):
        mean = lambda p: np.mean(  # noqa: E731
            [otsu(v[images == i] ** p, geometry.areas[images == i])[1] for i in names if y[images == i][0]]
        )
        return select(v ** max((2, 1.4, 1, 0.7, 0.5, 0.35, 0.25), key=mean))

    def judge(chosen):
        s, a = M @ chosen, geometry.areas
        inside, rest = np.average(s[chosen], weights=a[chosen]), y & ~chosen
        tops = []
        for image in names[[not y[images == i][0] for i in names]]:
            own = np.flatnonzero(images == image)
            own, left, total = own[np.argsort(-s[own], kind="stable")], 0.05, 0.0
            for i in own:
                taken = min(left, share[i])
                total, left = total + taken * s[i], left - taken
            tops.append(total / 0.05)
        i, j = geometry.edges.T
        known, crossed = y[i], y[i] & (chosen[i] != chosen[j])
        contrast = np.average(geometry.contrasts[crossed], weights=geometry.lengths[crossed])
        contrast /= np.average(geometry.contrasts[known], weights=geometry.lengths[known])
        return inside * (1 - np.average(s[rest], weights=a[rest])) * (1 - np.mean(tops)) + 0.2 * np.log(
            min(contrast, 2)
        )

    selections, scores = [], []
    for balance, strength in ((0, 0), (0.25, 0.3)):
        g = np.where(geometry.border > 0, border, 1) * (1 - strength * connectivity)
        w = y.astype(float)
        for _ in range(n_steps):
            w = y * g * (M @ w)
            w = w / np.array([(w * share)[images == i].sum() or 1 for i in images]) ** balance
            w /= w.max()
        v = g * (M @ w)
        selections.append(separate(smooth(v / v[y].max())))
        scores.append(judge(selections[-1]))
    weights = np.exp((np.array(scores) - max(scores)) / 0.02)
    weights /= weights.sum()
    chosen = select(smooth(M @ (weights @ selections)))
    # Neighbours where objects repeat, a linear classifier where they vary.
    s = M @ chosen
    inside = np.average(s[chosen], weights=geometry.areas[chosen])
    half = np.where(chosen, 0.5 / chosen.sum(), 0.5 / (~chosen).sum())
    centred = X - half @ X
    C = (centred * half[:, None]).T @ centred
    direction = np.linalg.solve(C + 0.3 * np.trace(C) / len(C) * np.eye(len(C)), X.T @ (half * (2 * chosen - 1)))
    part = geometry.areas[chosen].sum() / geometry.areas.sum()
    weight = geometry.areas * np.where(chosen, part, 1 - part) ** -0.5
    design, curve = np.column_stack([X @ direction, np.ones(n)]), np.zeros(2)
    for _ in range(200):
        p = expit(design @ curve)
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + 1e-9 * weight.sum() * np.eye(2)
        curve -= np.clip(np.linalg.solve(hessian, design.T @ (weight * (p - chosen))), -5, 5)
    return select(smooth(inside * s + (1 - inside) * expit(design @ curve))), weights
