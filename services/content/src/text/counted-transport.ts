import { Counter } from "prom-client";
import { counting } from "../send/send-metrics.ts";
import type { TextTransport } from "./text-transport.ts";

const handOvers = new Counter({
  name: "tidings_text_hand_overs_total",
  help: "Text messages that a transport was given, by outcome; `refused`: for good, `deferred`: for now, `away`: the provider takes none",
  labelNames: ["transport", "outcome"],
});

/** The same transport, whose outcomes are counted. */
export function countedTextTransport(transport: TextTransport): TextTransport {
  return { ...transport, handOver: counting(handOvers, transport) };
}
