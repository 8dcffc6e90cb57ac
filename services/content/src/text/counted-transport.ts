import { Counter } from "prom-client";
import { counting } from "../send/send-metrics.ts";
import type { TextTransport } from "./text-transport.ts";

const handOvers = new Counter({
  name: "tidings_text_hand_overs_total",
  help: "Text messages, tweets and notifications that a transport was given, by outcome; `refused`: for good, `deferred`: for now, `away`: the provider takes none",
  labelNames: ["channel", "transport", "outcome"],
});

/** The same transport, whose outcomes are counted for its channel. */
export function countedTextTransport(transport: TextTransport, channel: string): TextTransport {
  return { ...transport, handOver: counting(handOvers, transport, { channel }) };
}
