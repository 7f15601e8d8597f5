import { PerspectiveCamera, Vector3 } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

/** A camera that looks at the figure, turns round it, and goes along with it where asked. */
export class Eye {
  readonly camera = new PerspectiveCamera(26, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  private readonly goal = new Vector3();
  private readonly step = new Vector3();
  private home = { target: new Vector3(), away: new Vector3(), distance: 1 };

  constructor(
    element: HTMLElement,
    readonly up: Vector3,
    changed: () => void,
  ) {
    this.camera.up.copy(up);
    this.controls = new OrbitControls(this.camera, element);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = false;
    this.controls.addEventListener("change", changed);
    // The wheel belongs to the page until the figure was clicked, and a finger that moves up or down scrolls.
    this.controls.enableZoom = false;
    element.style.touchAction = "pan-y";
    element.addEventListener("focus", () => (this.controls.enableZoom = true));
    element.addEventListener("blur", () => (this.controls.enableZoom = false));
  }

  /** Width over height of the picture. */
  setAspect(aspect: number): void {
    this.camera.aspect = aspect;
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
  }

  /** Looks at a ball from the side on which the figure is widest, a little from above. */
  frame(target: Vector3, radius: number, wide: Vector3): void {
    const flat = wide.clone().addScaledVector(this.up, -wide.dot(this.up));
    if (flat.lengthSq() < 1e-12) flat.set(this.up.y, this.up.z, this.up.x);
    const away = new Vector3().crossVectors(flat.normalize(), this.up).normalize();
    away.applyAxisAngle(this.up, 0.3).addScaledVector(this.up, 0.2).normalize();
    this.home = { target: target.clone(), away, distance: radius };
    this.reset();
  }

  reset(): void {
    const { target, away, distance } = this.home;
    const half = (this.camera.fov * Math.PI) / 360;
    const narrow = Math.min(half, Math.atan(Math.tan(half) * this.camera.aspect));
    const far = distance / Math.sin(narrow);
    this.camera.near = far / 100;
    this.camera.far = far * 20;
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(away, far);
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  /** Shifts eye and target towards a point; `share` of the way, 1 at once. */
  follow(point: Vector3, share: number): void {
    this.goal.copy(point);
    this.step.copy(this.goal).sub(this.controls.target).multiplyScalar(share);
    if (this.step.lengthSq() < 1e-14) return;
    this.controls.target.add(this.step);
    this.camera.position.add(this.step);
    this.camera.updateMatrixWorld();
  }

  /** Turns by keyboard [rad]. */
  orbit(sideways: number, upwards: number): void {
    const away = this.camera.position.clone().sub(this.controls.target);
    away.applyAxisAngle(this.up, -sideways);
    const side = new Vector3().crossVectors(this.up, away).normalize();
    const angle = away.angleTo(this.up) - upwards;
    if (angle > 0.08 && angle < Math.PI - 0.08) away.applyAxisAngle(side, -upwards);
    this.camera.position.copy(this.controls.target).add(away);
    this.controls.update();
  }

  zoom(factor: number): void {
    const away = this.camera.position.clone().sub(this.controls.target).multiplyScalar(factor);
    this.camera.position.copy(this.controls.target).add(away);
    this.controls.update();
  }
}
