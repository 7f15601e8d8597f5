import {
  BufferGeometry,
  type Color,
  Float32BufferAttribute,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Vector3,
} from "three";

/** Lines on the floor, fading outwards into the paper. */
export class Floor {
  readonly lines: LineSegments;
  readonly step: number;
  /** lays things flat on the floor */
  readonly flatten: Matrix4;

  constructor(
    up: Vector3,
    middle: Vector3,
    level: number,
    reach: number,
    private readonly cells = 24,
  ) {
    this.step = stepFor(reach);
    const side = Math.abs(up.x) > 0.5 ? new Vector3(0, 1, 0) : new Vector3(1, 0, 0);
    const other = new Vector3().crossVectors(up, side);
    const centre = middle.clone().addScaledVector(up, level - middle.dot(up));
    const points: number[] = [];
    const add = (a: number, b: number): void => {
      const p = centre
        .clone()
        .addScaledVector(side, a * this.step)
        .addScaledVector(other, b * this.step);
      points.push(p.x, p.y, p.z);
    };
    const half = this.cells / 2;
    // Lines in short pieces, so that each end can fade by itself.
    for (let i = -half; i <= half; i++) {
      for (let j = -half; j < half; j++) {
        add(i, j);
        add(i, j + 1);
        add(j, i);
        add(j + 1, i);
      }
    }
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
    geometry.setAttribute("color", new Float32BufferAttribute(new Float32Array((points.length / 3) * 4), 4));
    this.lines = new LineSegments(
      geometry,
      new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }),
    );
    this.lines.renderOrder = -2;
    this.centre = centre;
    this.flatten = flattening(up, level + 1e-4 * reach);
  }

  private readonly centre: Vector3;

  paint(colour: Color): void {
    const position = this.lines.geometry.getAttribute("position");
    const target = this.lines.geometry.getAttribute("color");
    const point = new Vector3();
    const far = (this.cells / 2) * this.step;
    for (let i = 0; i < position.count; i++) {
      const away = point.fromBufferAttribute(position, i).distanceTo(this.centre) / far;
      target.setXYZW(i, colour.r, colour.g, colour.b, Math.max(0, 1 - away) ** 1.2);
    }
    target.needsUpdate = true;
  }
}

/** A round distance between lines: three or more to the room. */
export function stepFor(reach: number): number {
  const power = 10 ** Math.floor(Math.log10(reach / 3) + 1e-9);
  const share = reach / 3 / power + 1e-9;
  return (share >= 5 ? 5 : share >= 2 ? 2 : 1) * power;
}

/** Moves every point along `up` onto the plane at this level. */
function flattening({ x, y, z }: Vector3, level: number): Matrix4 {
  const m = new Matrix4();
  m.set(
    ...[1 - x * x, -x * y, -x * z, x * level],
    ...[-y * x, 1 - y * y, -y * z, y * level],
    ...[-z * x, -z * y, 1 - z * z, z * level],
    ...[0, 0, 0, 1],
  );
  return m;
}
