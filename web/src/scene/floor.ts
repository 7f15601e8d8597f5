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

function flattening(up: Vector3, level: number): Matrix4 {
  const u = up.toArray();
  const m = new Matrix4();
  for (let r = 0; r < 3; r++) {
    for (let c = 0; c < 3; c++) m.elements[c * 4 + r] = (r === c ? 1 : 0) - u[r] * u[c];
    m.elements[12 + r] = u[r] * level;
  }
  return m;
}
