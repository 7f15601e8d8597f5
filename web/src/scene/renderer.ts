import { type Camera, type Color, type Scene, SRGBColorSpace, WebGLRenderer } from "three";
import { Pace } from "./pace";

/** The canvas, on which pictures are drawn beside each other; throws where the browser has no WebGL. */
export class Renderer {
  /** [px] of the page */
  width = 1;
  height = 1;
  private readonly gl: WebGLRenderer;
  private readonly pace = new Pace();

  constructor(canvas: HTMLCanvasElement) {
    this.gl = new WebGLRenderer({ canvas, antialias: true });
    this.gl.outputColorSpace = SRGBColorSpace;
    this.gl.autoClear = false;
    this.gl.setPixelRatio(finest());
  }

  dispose(): void {
    this.gl.dispose();
    this.gl.forceContextLoss();
  }

  resize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.gl.setSize(width, height, false);
  }

  /** Draws from now on as finely as frames come in time. */
  adjust(moving: boolean): void {
    const ratio = finest() * this.pace.share(performance.now(), moving);
    if (Math.abs(ratio - this.gl.getPixelRatio()) > 1e-6) this.gl.setPixelRatio(ratio);
  }

  clear(colour: Color): void {
    this.gl.setClearColor(colour);
    this.gl.setScissorTest(false);
    this.gl.clear();
    this.gl.setScissorTest(true);
  }

  /** Draws a scene over the whole height, `width` wide [px]. */
  draw(scene: Scene, camera: Camera, left: number, width: number): void {
    this.gl.setViewport(left, 0, width, this.height);
    this.gl.setScissor(left, 0, width, this.height);
    this.gl.render(scene, camera);
  }
}

/** Pixels of the canvas to one of the page; more than two are not seen. */
function finest(): number {
  return Math.min(devicePixelRatio, 2);
}
