import type { Picked } from "./picking";

/** [px] beyond which a press with a move is a drag and not a click. */
const DRAG = 5;

/** What the pointer does over the canvas: it hovers over a body, or clicks something. */
export class Pointer {
  /** the body under it, null for none */
  hovered: number | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    under: (event: MouseEvent) => Picked | null,
    private readonly moved: () => void,
    clicked: (picked: Picked) => void,
  ) {
    canvas.addEventListener("pointermove", (event) => this.hover(event.buttons === 0 ? under(event) : null));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    let down = { x: 0, y: 0 };
    canvas.addEventListener("pointerdown", (event) => {
      down = { x: event.clientX, y: event.clientY };
    });
    canvas.addEventListener("click", (event) => {
      if (Math.hypot(event.clientX - down.x, event.clientY - down.y) > DRAG) return;
      const picked = under(event);
      if (picked !== null) clicked(picked);
    });
  }

  private hover(picked: Picked | null): void {
    const body = picked?.body ?? null;
    this.canvas.classList.toggle("over", body !== null);
    if (body === this.hovered) return;
    this.hovered = body;
    this.moved();
  }
}
