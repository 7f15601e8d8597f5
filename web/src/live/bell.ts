import { button } from "../dom";

const TONES_HZ = [880, 660, 880] as const;
const TONE_S = 0.16;

/** A sound for every new alarm, once somebody asked for it: browsers play none before. */
export class Bell {
  readonly button: HTMLButtonElement;
  private context: AudioContext | null = null;
  private rung = 0;

  constructor() {
    this.button = button("Sound", "A sound for every new alarm", () => this.toggle(), { "aria-pressed": "false" });
  }

  /** Rings where there are more alarms than before. */
  ring(alarms: number): void {
    if (alarms > this.rung && this.context) this.play(this.context);
    this.rung = alarms;
  }

  private toggle(): void {
    void this.context?.close();
    this.context = this.context ? null : new AudioContext();
    this.button.setAttribute("aria-pressed", String(this.context !== null));
    if (this.context) this.play(this.context);
  }

  private play(context: AudioContext): void {
    TONES_HZ.forEach((tone, k) => {
      const oscillator = context.createOscillator();
      const volume = context.createGain();
      const start = context.currentTime + k * TONE_S;
      volume.gain.setValueAtTime(0.15, start);
      volume.gain.exponentialRampToValueAtTime(0.001, start + TONE_S);
      oscillator.frequency.value = tone;
      oscillator.connect(volume).connect(context.destination);
      oscillator.start(start);
      oscillator.stop(start + TONE_S);
    });
  }
}
