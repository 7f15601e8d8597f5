import type { Message } from "./messages";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5000;

export interface Listener {
  message(message: Message): void;
  /** a frame: time [s], then place and quaternion of every body, and place of every marker */
  frame(time: number, values: Float32Array): void;
  /** whether the stream is there */
  connected(there: boolean): void;
}

/** The stream of a session; it comes back by itself when it was cut. */
export class Stream {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT_MS;
  private over = false;

  constructor(
    private readonly url: string,
    private readonly listener: Listener,
  ) {
    this.open();
  }

  say(word: string): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(word);
  }

  private open(): void {
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT_MS;
      this.listener.connected(true);
    });
    socket.addEventListener("message", ({ data }) => this.take(data));
    socket.addEventListener("close", () => {
      this.listener.connected(false);
      if (this.over) return;
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
    });
  }

  private take(data: unknown): void {
    if (data instanceof ArrayBuffer) {
      this.listener.frame(new DataView(data).getFloat64(0, true), new Float32Array(data, 8));
      return;
    }
    const message = JSON.parse(String(data)) as Message;
    if (message.type === "end") this.over = true;
    this.listener.message(message);
  }
}

/** The address of the stream beside the page. */
export function streamUrl({ protocol, host, pathname }: Pick<Location, "protocol" | "host" | "pathname">): string {
  return `${protocol === "https:" ? "wss" : "ws"}://${host}${pathname.replace(/[^/]*$/, "")}stream`;
}
