import { at, last } from "../at";
import type { Model } from "../model";

/** A body's place in the diagram: column by depth, row by order of leaves. */
export interface Node {
  readonly body: number;
  readonly depth: number;
  readonly row: number;
}

export interface Layout {
  readonly nodes: readonly Node[];
  readonly rows: number;
  readonly depth: number;
}

/** Figures one below the other, roots at the left, loose bodies last; a parent stands in the middle of its children. */
export function layoutOf(model: Model): Layout {
  const nodes: Node[] = [];
  const childrenOf = (body: number): number[] =>
    model.data.joints.filter((joint) => joint.parent === body).map((joint) => joint.child);
  let rows = 0;
  let deepest = 0;
  const place = (body: number, depth: number): number => {
    deepest = Math.max(deepest, depth);
    const below = childrenOf(body).map((child) => place(child, depth + 1));
    const row = below.length ? (at(below, 0) + last(below)) / 2 : rows++;
    nodes.push({ body, depth, row });
    return row;
  };
  const roots = model.bodies.map((_, b) => b).filter((b) => model.ownJoint(b) === null);
  const trees = roots.filter((b) => childrenOf(b).length > 0);
  trees.forEach((root, i) => {
    if (i > 0) rows += 0.6;
    place(root, 0);
  });
  const loose = roots.filter((b) => childrenOf(b).length === 0);
  if (trees.length && loose.length) rows += 0.6;
  for (const body of loose) place(body, 0);
  return { nodes, rows, depth: deepest };
}
