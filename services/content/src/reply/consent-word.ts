/** Words by which people end and resume messages everywhere (CTIA, Short Code Monitoring Handbook). */
const STOP = new Set(["stop", "stopall", "unsubscribe", "cancel", "end", "quit"]);
const START = new Set(["start", "unstop"]);
/** Signs around a word: "STOP!". */
const AROUND = /^[\s\p{P}]+|[\s\p{P}]+$/gu;

/** Does a message say nothing but that no more are wanted, or that they are wanted again? */
export function consentWordOf(text: string): "stop" | "start" | undefined {
  const word = text.replace(AROUND, "").toLowerCase();
  if (STOP.has(word)) return "stop";
  return START.has(word) ? "start" : undefined;
}
