import { el } from "../dom";

/** Printing takes what the graphics card showed last; a copy in an ordinary canvas is taken as it is now. */
export class PaperCopy {
  readonly element = el("canvas", { class: "on-paper", "aria-hidden": "true" });

  take(canvas: HTMLCanvasElement): void {
    this.element.width = canvas.width;
    this.element.height = canvas.height;
    this.element.getContext("2d")?.drawImage(canvas, 0, 0);
  }
}
