import { readDkimKeys } from "@tidings/mail/dkim";
import { readInboxUrl } from "@tidings/mail/inbox-url";
import { wireAddress } from "@tidings/mail/mail-address";
import { readTransportUrls } from "@tidings/mail/open-transport";
import { allowedRanges } from "@tidings/outbound/allowed-ranges";
import { apiDialect, flag, list, port, readConfig, serviceConfig, upstreams } from "@tidings/runtime/config";
import { secretKeys } from "@tidings/secrets/secret-keys";
import { z } from "zod";
import { readCallbacks } from "./callback/callback-secrets.ts";
import { readDomainRates, readRate } from "./rate/rate.ts";
import { readTextCallbacks } from "./reply/text-callbacks.ts";
import { readFormerSecrets } from "./send/former-links.ts";
import { readInboxAddress } from "./send/return-addresses.ts";
import { readPushUrl, readTextUrl, readTweetUrl } from "./text/transport-url.ts";
import { KEPT_LIST, machineNetworks } from "./visit/machine-networks.ts";

const bytes = z.coerce.number().int().min(1);
const MEGABYTE = 1024 * 1024;

/** A reason names nothing of the URL: it may have a password. */
const mailUrls = z.string().transform((text, { addIssue }) => {
  const urls = readTransportUrls(text);
  if (!("problem" in urls)) return urls;
  addIssue({ code: "custom", message: `the URL ${urls.problem}` });
  return z.NEVER;
});

const mailRate = z.string().transform((text, { addIssue }) => {
  const rate = readRate(text);
  if (typeof rate === "number") return rate;
  addIssue({ code: "custom", message: rate.problem });
  return z.NEVER;
});

const domainRates = list.transform((items, { addIssue }) => {
  const rates = readDomainRates(items);
  if (!("problem" in rates)) return rates;
  addIssue({ code: "custom", message: rates.problem });
  return z.NEVER;
});

/** A URL of a channel. A reason names nothing of it: it may have a password. */
function channelUrl<U extends object>(read: (text: string) => U | { problem: string }) {
  return z.string().transform((text, { addIssue }) => {
    const url = read(text);
    if (!("problem" in url)) return url;
    addIssue({ code: "custom", message: `the URL ${url.problem}` });
    return z.NEVER;
  });
}

const inboxUrl = z.string().transform((text, { addIssue }) => {
  const inbox = readInboxUrl(text);
  if (!("problem" in inbox)) return inbox;
  addIssue({ code: "custom", message: `the URL ${inbox.problem}` });
  return z.NEVER;
});

const inboxAddress = z.string().transform((text, { addIssue }) => {
  const address = readInboxAddress(text);
  if (typeof address === "string") return address;
  addIssue({ code: "custom", message: address.problem });
  return z.NEVER;
});

const dkimKeys = list.transform((items, { addIssue }) => {
  const keys = readDkimKeys(items);
  if (!("problem" in keys)) return keys;
  addIssue({ code: "custom", message: keys.problem });
  return z.NEVER;
});

const callbacks = list.transform((items, { addIssue }) => {
  const read = readCallbacks(items);
  if (!("problem" in read)) return read;
  addIssue({ code: "custom", message: read.problem });
  return z.NEVER;
});

const textCallbacks = list.transform((items, { addIssue }) => {
  const read = readTextCallbacks(items);
  if (!("problem" in read)) return read;
  addIssue({ code: "custom", message: read.problem });
  return z.NEVER;
});

const formerSecrets = list.transform((items, { addIssue }) => {
  const secrets = readFormerSecrets(items);
  if (!("problem" in secrets)) return secrets;
  addIssue({ code: "custom", message: secrets.problem });
  return z.NEVER;
});

const mailbox = z.string().transform((text, { addIssue }) => {
  const [, name = "", bracketed] = /^([^<>]*)<([^<>]*)>$/.exec(text.trim()) ?? [];
  const address = bracketed ?? text.trim();
  if (wireAddress(address) !== undefined) return { name: name.trim(), address };
  addIssue({ code: "custom", message: "it is no address, and no name with an address in angle brackets" });
  return z.NEVER;
});

/** Every variable the content service reads. */
export const contentVariables = {
  ...serviceConfig,
  ...upstreams("contact", "campaign", "identity"),
  API_DIALECT: apiDialect,
  /** Where the public web is served to the gateway. */
  WEB_PORT: port.default(8081),
  /** Where visitors find what is published. */
  PUBLIC_URL: z.url(),
  /** The word in cookies, ids and classes of forms, attributes, and names in queries: `svc_device_id`, `svcform`. */
  PUBLIC_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,19}$/)
    .default("svc"),
  /** `name:base64 of 32 bytes`: what is signed for visitors is signed with the first, and read with all of them. */
  PUBLIC_TOKEN_KEYS: secretKeys,
  /** Origins of sites that may read what tracking and forms answer, with cookies where they are named; `*` is any site, without. */
  TRACKING_ORIGINS: list.default(["*"]),
  /** `signal`: a browser that sends DNT or Sec-GPC is nobody; `required`: so is each one until its page says that it may; `off`. */
  TRACKING_CONSENT: z.enum(["signal", "required", "off"]).default("signal"),
  /** Addresses are kept as they are, without their last part, or not at all. */
  TRACKING_IP: z.enum(["full", "short", "none"]).default("full"),
  /** A visitor whose browser is not known is taken for the one who came from the same address before. Needs TRACKING_IP=full. */
  TRACK_BY_IP: flag.default(false),
  /** A file of places by address, in the MaxMind DB format with the members of GeoLite2 City; none when absent. */
  GEOIP_FILE: z.string().min(1).optional(),
  /** Addresses whose visitors are nobody: CIDR ranges. */
  DO_NOT_TRACK_IPS: allowedRanges.default([]),
  /** Words in a User-Agent by which it is a machine's, beside those of the kept list. */
  BOT_AGENTS: list.default([]),
  /** Networks of machines that follow links: CIDR ranges, and `known` for the kept list. */
  MACHINE_NETWORKS: machineNetworks.prefault(KEPT_LIST),
  /** Words before the alias in the addresses of landing pages, in this order: `category`, `language`. */
  PAGE_PREFIXES: list.pipe(z.array(z.enum(["category", "language"])).max(2)).default([]),
  /** Visits of addresses that are no page's are recorded only of browsers that were here before. */
  DO_NOT_TRACK_404_ANONYMOUS: flag.default(false),
  /** `mapped`: what is sent with a form is written to its contact; `proven`: only where the visitor proved to be that contact is a known value overwritten. */
  FORM_UPDATES: z.enum(["mapped", "proven"]).default("mapped"),
  /** The bytes of one submission with all of its files. */
  FORM_BYTES_MAX: bytes.max(1024 * MEGABYTE).default(32 * MEGABYTE),
  /** The bytes of the files of all submissions together. */
  FORM_FILES_BYTES_MAX: bytes.max(Number.MAX_SAFE_INTEGER).default(10_240 * MEGABYTE),
  /** A folder for hits while the database is away, a volume that outlives the process; `hits` in FILES_DIR when absent. */
  HITS_DIR: z.string().optional(),
  /** Bytes of hits that may wait there. */
  HITS_SPILL_BYTES_MAX: bytes.max(64 * 1024 * MEGABYTE).default(256 * MEGABYTE),
  /** Days after which hits are no longer read: their month is detached. 0: never. */
  HITS_DAYS: z.coerce.number().int().min(0).max(36_500).default(0),
  /** A folder for uploads while they arrive, and for good where there is no bucket. */
  FILES_DIR: z.string().min(1),
  /** A server that speaks S3, whose bucket keeps the files instead. */
  FILES_S3_URL: z.url().optional(),
  FILES_S3_REGION: z.string().default("us-east-1"),
  FILES_S3_BUCKET: z.string().default("tidings"),
  FILES_S3_ACCESS_KEY: z.string().default(""),
  FILES_S3_SECRET_KEY: z.string().default(""),
  /** The bytes of one file: an asset, an image. */
  UPLOAD_BYTES_MAX: bytes.max(2 ** 31 - 1).default(6 * MEGABYTE),
  /** The bytes of all uploads together. */
  UPLOADS_BYTES_MAX: bytes.max(Number.MAX_SAFE_INTEGER).default(10_240 * MEGABYTE),
  /** Bytes that the uploads of one user may have. */
  UPLOADS_USER_BYTES_MAX: bytes.max(Number.MAX_SAFE_INTEGER).default(2_048 * MEGABYTE),
  /** Addresses that forms which ask for it do not take, separated by commas: whole, or `*` and how they end. */
  FORM_BLOCKED_EMAILS: z
    .string()
    .default("")
    .transform((text) =>
      text
        .toLowerCase()
        .split(",")
        .map((pattern) => pattern.trim()),
    )
    .transform((patterns) => patterns.filter((pattern) => pattern !== "" && pattern !== "*")),
  /** Addresses from which every submission of a form is kept as spam: CIDR ranges. */
  FORM_BLOCKED_IPS: allowedRanges.default([]),
  /** Days after which spam is deleted. */
  FORM_SPAM_DAYS: z.coerce.number().int().min(1).max(365).default(30),
  /** How mails leave: `smtp://user:password@host:587`, `smtps://host`, or `file:FOLDER`, where they are kept and not sent. Of several, with blanks or commas between them, the first that takes mails. None leave when absent. */
  MAIL_URL: mailUrls.optional(),
  /** The sender of emails that name none: `Name <address>` or an address. Needed with MAIL_URL. */
  MAIL_FROM: mailbox.optional(),
  /** `serve`: mails are sent by other processes, those with `send`, which serve nobody; `all`: this process does both. */
  CONTENT_ROLE: z.enum(["all", "serve", "send"]).default("all"),
  /** Keys that sign the mails of their domains (DKIM): `domain:selector:key`, the key as base64 of PKCS 8. None are signed when absent. */
  MAIL_DKIM_KEYS: dkimKeys.default([]),
  /** Providers whose reports of bounces and complaints are taken at `/mailer/callback/<name>`: `name:secret`. */
  MAIL_CALLBACKS: callbacks.default([]),
  /** An inbox for mails that come back: `imaps://user:password@host/FOLDER`, or `imap://` with STARTTLS. None is read when absent. */
  MAIL_INBOX_URL: inboxUrl.optional(),
  /** The address of that inbox, which takes mails to `<local part>+<token>` too: the envelope sender of emails. Needed with MAIL_INBOX_URL. */
  MAIL_INBOX_ADDRESS: inboxAddress.optional(),
  /** Mails that are handed over at a time. */
  MAIL_CONNECTIONS: z.coerce.number().int().min(1).max(200).default(16),
  /** Mails that all processes together hand over in a second, a minute or an hour: `50/s`. Any number when absent. */
  MAIL_RATE: mailRate.optional(),
  /** The same by the domain of the recipient: `example.org=5/s`. */
  MAIL_DOMAIN_RATES: domainRates.default(new Map()),
  /** How text messages leave: `form+https://user:password@host/path?from=+49151`, `json+https://token@host/path?body=...`, or `log:`. None leave when absent. */
  SMS_URL: channelUrl(readTextUrl).optional(),
  /** How tweets leave: `json+https://token@host/path?body={"text":"{text}"}`, or `log:`. None leave when absent. */
  TWEET_URL: channelUrl(readTweetUrl).optional(),
  /** How notifications leave: `json+https://token@host/path?body={"ids":["{to}"],"text":"{text}"}`, or `log:`. None leave when absent. */
  PUSH_URL: channelUrl(readPushUrl).optional(),
  /** Providers whose reports of text messages, and answers to them, are taken at `/sms/<name>/callback`: `name:secret`. */
  SMS_CALLBACKS: textCallbacks.default([]),
  /** Emails with `useOwnerAsMailer` come from the owner of the contact, as far as mails of that address are signed. */
  MAIL_OWNER_AS_MAILER: flag.default(false),
  /** The HTML of `{signature}` where the mail is not from an owner with a signature; `|FROM_NAME|` is the name of its sender. */
  MAIL_SIGNATURE: z.string().max(10_000).default("Best regards,<br>|FROM_NAME|"),
  /** Days for which the values in a mail are kept, so that it is shown as it was; later it is shown with present ones. 0: none are kept. */
  MAIL_TOKENS_DAYS: z.coerce.number().int().min(0).max(3_650).default(30),
  /** A picture in HTML mails says that they were opened. */
  MAIL_TRACKING_PIXEL: flag.default(true),
  /** Links in mails lead by way of us, which says that they were followed. */
  MAIL_TRACK_LINKS: flag.default(true),
  /** Secret keys of the product that sent before: the unsubscribe links in its mails, with address and HMAC, work here. */
  FORMER_UNSUBSCRIBE_SECRETS: formerSecrets.default([]),
  /** At the unsubscribe link readers choose what they get, and how often. */
  SHOW_PREFERENCES: flag.default(false),
  /** `name:base64 of 32 bytes`: what secrets in the actions of forms are kept under. */
  CONTENT_SECRET_KEYS: secretKeys,
  /** Private ranges where remote assets may be all the same. */
  OUTBOUND_ALLOW_CIDRS: allowedRanges.default([]),
};

export function contentConfig(env: NodeJS.ProcessEnv) {
  const config = readConfig(contentVariables, env);
  if (config.MAIL_URL && !config.MAIL_FROM) throw new Error("MAIL_FROM: MAIL_URL needs a sender");
  if (config.MAIL_INBOX_URL && !config.MAIL_INBOX_ADDRESS)
    throw new Error("MAIL_INBOX_ADDRESS: MAIL_INBOX_URL needs the address of the inbox");
  if (config.MAIL_INBOX_ADDRESS && !config.MAIL_INBOX_URL)
    throw new Error("MAIL_INBOX_URL: nobody would read what comes to MAIL_INBOX_ADDRESS");
  return config;
}

export type ContentConfig = ReturnType<typeof contentConfig>;
