import { type PerspectiveCamera, Vector3 } from "three";
import { el } from "../dom";

export interface Label {
  readonly key: number;
  readonly text: string;
  readonly point: Vector3;
  readonly strong: boolean;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Names over the figure: each beside its point, none over another; what finds no room is left out. */
export class Labels {
  readonly layer = el("div", { class: "labels", "aria-hidden": "true" });
  private readonly pool: {
    readonly element: HTMLElement;
    text: string;
    strong: boolean;
    width: number;
    height: number;
  }[] = [];
  private used = 0;
  private boxes: Box[] = [];
  private readonly point = new Vector3();

  begin(): void {
    this.used = 0;
    this.boxes = [];
  }

  /** Labels of one view with its corner and size in the layer [px]. */
  add(labels: readonly Label[], camera: PerspectiveCamera, left: number, width: number, height: number): void {
    for (const label of labels) {
      this.point.copy(label.point).project(camera);
      if (this.point.z > 1) continue;
      const x = left + ((this.point.x + 1) / 2) * width;
      const y = ((1 - this.point.y) / 2) * height;
      if (x < left || x > left + width || y < 0 || y > height) continue;
      const item = this.item(label);
      const place = this.room(x, y, item.width, item.height, left, width, height);
      if (place === null && !label.strong) continue;
      const [at, top] = place ?? [x + 12, y - item.height / 2];
      this.boxes.push({ left: at, top, right: at + item.width, bottom: top + item.height });
      item.element.style.transform = `translate(${Math.round(at)}px, ${Math.round(top)}px)`;
      item.element.hidden = false;
      this.used++;
    }
  }

  end(): void {
    for (const { element } of this.pool.slice(this.used)) element.hidden = true;
  }

  private item(label: Label): (typeof this.pool)[number] {
    let item = this.pool[this.used];
    if (item === undefined) {
      item = { element: el("span", { class: "label" }), text: "", strong: false, width: 0, height: 0 };
      this.pool.push(item);
      this.layer.append(item.element);
    }
    if (item.text !== label.text || item.strong !== label.strong) {
      item.text = label.text;
      item.strong = label.strong;
      item.element.classList.toggle("strong", label.strong);
      item.element.hidden = false;
      item.element.textContent = label.text;
      item.width = item.element.offsetWidth;
      item.height = item.element.offsetHeight;
    }
    return item;
  }

  private room(
    x: number,
    y: number,
    w: number,
    h: number,
    left: number,
    width: number,
    height: number,
  ): [number, number] | null {
    const gap = 13;
    const [near, far] = x < left + width / 2 ? [x - gap - w, x + gap] : [x + gap, x - gap - w]; // outwards first
    const tries: [number, number][] = [near, far].flatMap((at) => [
      [at, y - h / 2],
      [at, y - h - gap / 2],
      [at, y + gap / 2],
    ]);
    for (const [a, b] of tries) {
      if (a < left + 2 || b < 2 || a + w > left + width - 2 || b + h > height - 2) continue;
      if (this.boxes.every((box) => a > box.right + 2 || a + w + 2 < box.left || b > box.bottom || b + h < box.top))
        return [a, b];
    }
    return null;
  }
}
