import { Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { at } from "../src/at";
import { Model } from "../src/model";
import { unpack } from "../src/motion/unpack";
import { BodyPoses } from "../src/scene/body_poses";
import { stepFor } from "../src/scene/floor";
import { BALL, shapeOf } from "../src/scene/shape";
import { extentOf, likelyUp, upVector } from "../src/scene/upright";
import { compare } from "../src/tables/table";
import { layoutOf } from "../src/tree/layout";
import { body, joint, motion, page } from "./made";
import { concat, packGroup } from "./pack";

const NEAR = 5; // decimals

describe("the shape of a figure", () => {
  it("a body with one joint is a bar to its sensor, with more from its own joint to the others", () => {
    const model = new Model(
      page({
        bodies: [body("a"), body("b"), body("c")],
        joints: [joint(1, 0), joint(2, 1, { p_parent_joint: [0, 0, -0.3] })],
      }),
    );
    const { limbs } = shapeOf(model, 1);
    expect(limbs.filter((bar) => bar.body === 2)).toMatchObject([{ b: [0, 0, 0] }]);
    expect(limbs.filter((bar) => bar.body === 1)).toMatchObject([{ a: [0, 0, 0.1], b: [0, 0, -0.3] }]);
  });
  it("halos are ten times two standard deviations around the ball in every take, and cut where that is too large", () => {
    for (const width of [0.002, 0.0002]) {
      const shape = shapeOf(new Model(page({ joints: [joint(1, 0, { place_95: [width, 0, 0] })] })), 1);
      expect(shape.halos[0]).toBeCloseTo(shape.size * BALL + 10 * width);
      expect(shape.halosCut).toBe(false);
    }
    const poor = shapeOf(new Model(page({ joints: [joint(1, 0, { place_95: [1, 0, 0] })] })), 1);
    expect(poor.halosCut).toBe(true);
    expect(poor.halos[0]).toBeLessThan(poor.size);
    const unknown = new Model(page({ joints: [joint(1, 0, { place_95: null })] }));
    expect(shapeOf(unknown, 1).halos).toEqual([0]);
  });
  it("hinges have their axis, loops are dashed on both bodies", () => {
    const model = new Model(
      page({ joints: [joint(1, 0, { kind: "hinge", axis_child: [0, 1, 0] })], loops: [joint(2, 0)] }),
    );
    const shape = shapeOf(model, 1);
    expect(shape.axes).toHaveLength(1);
    expect(new Set(shape.dashes.map((bar) => bar.body))).toEqual(new Set([0, 2]));
    expect(shape.dashes.every((bar) => bar.link === 1)).toBe(true);
  });
});

describe("measured against played", () => {
  const same = (value: number): number[] => [value];
  const zero = (n: number): number[][] => Array.from({ length: n }, () => same(0));
  const model = new Model(page());
  const raw = concat([
    packGroup([[0]], 0),
    packGroup([same(1), same(1), same(1)], 0),
    packGroup([same(1), same(1), same(1)], 0),
    packGroup(zero(3), 0),
    packGroup(zero(9), 0),
    packGroup(zero(6), 0),
    packGroup([same(2), ...zero(8)], 0),
    packGroup([...zero(5), same(100), ...zero(3)], 0),
    packGroup([same(1)], 0),
    packGroup([same(255)], 0),
  ]);
  const poses = unpack(raw, 0, 1, { bodies: 3, motion: motion(), joints: model.data.joints, links: model.links });

  it("is drawn as many times larger as asked, in place and in turn", () => {
    const measured = new BodyPoses(3, "measured");
    measured.read(poses, 0, 1);
    expect(measured.p[0]).toBeCloseTo(0.002, NEAR);
    expect(measured.q[7]).toBeCloseTo(Math.sin(0.1), NEAR);
    measured.read(poses, 0, 3);
    expect(measured.p[0]).toBeCloseTo(0.006, NEAR);
    expect(measured.q[7]).toBeCloseTo(Math.sin(0.3), NEAR);
  });
  it("played, the two sides of a joint are one point", () => {
    const played = new BodyPoses(3, "played");
    played.read(poses, 0, 30);
    const sides = new Float32Array(6);
    played.point(1, model.link(0).p_child_joint, sides, 0);
    played.point(0, model.link(0).p_parent_joint, sides, 3);
    sides.subarray(0, 3).forEach((value, x) => expect(value).toBeCloseTo(at(sides, 3 + x), NEAR));
  });
});

describe("which way is up", () => {
  it("as told", () => {
    expect(upVector("-y").toArray()).toEqual([-0, -1, 0].map((v) => v || 0));
    expect(upVector(null).toArray()).toEqual([0, 0, 1]);
  });
  it("else along the longest axis, if it is clearly that", () => {
    expect(likelyUp([0, 0, 0, 0.3, 1.8, 0.2])).toBe("y");
    expect(likelyUp([0, 0, 0, 1.5, 1.8, 0.2])).toBe("z");
  });
  it("the widest level direction leaves height out", () => {
    const { wide, middle, radius } = extentOf([0, -1, 0, 0, 1, 0, 0.1, 0, 9], new Vector3(0, 0, 1));
    expect(Math.abs(wide.y)).toBeGreaterThan(0.9);
    expect(middle.z).toBe(4.5);
    expect(radius).toBeGreaterThan(4.5);
  });
  it("lines on the floor are a round distance apart", () => {
    expect([0.6, 2, 4, 40].map(stepFor)).toEqual([0.2, 0.5, 1, 10]);
  });
});

describe("the tree as a diagram", () => {
  it("has every body once, a parent amid its children, loose ones last", () => {
    const model = new Model(
      page({
        bodies: ["r", "a", "b", "c", "loose"].map((name) => body(name)),
        joints: [joint(1, 0), joint(2, 0), joint(3, 1)],
      }),
    );
    const { nodes, depth } = layoutOf(model);
    expect(nodes.map((node) => node.body).sort()).toEqual([0, 1, 2, 3, 4]);
    expect(depth).toBe(2);
    const row = (body: number): number => nodes.find((node) => node.body === body)?.row ?? NaN;
    expect(row(0)).toBe((row(1) + row(2)) / 2);
    expect(row(4)).toBe(Math.max(...nodes.map((node) => node.row)));
  });
});

it("cells are sorted by number or by name with its numbers, empty ones last either way", () => {
  expect(["b10", null, "b9"].sort((a, b) => compare(a, b, false))).toEqual(["b9", "b10", null]);
  expect([1, null, 3].sort((a, b) => compare(a, b, true))).toEqual([3, 1, null]);
});
