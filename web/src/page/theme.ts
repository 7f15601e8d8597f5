/** Light or dark: as the system says, until the reader chooses otherwise; on paper always light. */
export class Theme {
  private chosen: "light" | "dark" | null = null;
  private readonly paper = matchMedia("print");
  private readonly system = matchMedia("(prefers-color-scheme: dark)");
  private readonly listeners: (() => void)[] = [];

  constructor() {
    this.paper.addEventListener("change", () => this.apply());
    this.system.addEventListener("change", () => this.apply());
    this.apply();
  }

  get dark(): boolean {
    if (this.paper.matches) return false;
    return this.chosen === null ? this.system.matches : this.chosen === "dark";
  }

  toggle(): void {
    this.chosen = this.dark ? "light" : "dark";
    this.apply();
  }

  onChange(run: () => void): void {
    this.listeners.push(run);
  }

  private apply(): void {
    document.documentElement.dataset.theme = this.dark ? "dark" : "light";
    for (const run of this.listeners) run();
  }
}
