/** Fields of filters that ask whether a contact is blocked on a channel, and for which reason. */
export const DO_NOT_CONTACT: ReadonlyMap<string, { channel: string; reason: number }> = new Map([
  ["dnc_unsubscribed", { channel: "email", reason: 1 }],
  ["dnc_bounced", { channel: "email", reason: 2 }],
  ["dnc_manual_email", { channel: "email", reason: 3 }],
  ["dnc_unsubscribed_sms", { channel: "sms", reason: 1 }],
  ["dnc_bounced_sms", { channel: "sms", reason: 2 }],
  ["dnc_manual_sms", { channel: "sms", reason: 3 }],
]);
