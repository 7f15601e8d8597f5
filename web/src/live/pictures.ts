import { el } from "../dom";

/** Pictures of a routine, each fetched once from where the page came from. */
export class Pictures {
  private readonly shown = new Map<string, HTMLImageElement>();

  /** The picture of this name; null for none. */
  of(name: string): HTMLElement | null {
    if (name === "") return null;
    const known = this.shown.get(name);
    if (known) return known;
    const image = el("img", { class: "step", alt: "" });
    this.shown.set(name, image);
    void this.load(name, image);
    return image;
  }

  private async load(name: string, image: HTMLImageElement): Promise<void> {
    const answer = await fetch(`picture/${encodeURIComponent(name)}`);
    if (answer.ok) image.src = URL.createObjectURL(await answer.blob());
  }
}
