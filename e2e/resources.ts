import { type Resource as Mounted, resources as mounted } from "@tidings/gateway/resources";
import { standardOf } from "@tidings/rpc/standard";
import type { Client, Contact, Entity } from "./client.ts";
import { declaredBodies } from "./declared-bodies.ts";

/** A resource as the CRUD suite needs it. */
export interface Resource extends Bodies, Pick<Mounted, "path" | "one" | "many" | "shape"> {
  /** How `total` is written. */
  total: "string" | "number";
}

/** Bodies to be sent, and what becomes of them. */
export interface Bodies {
  /** As little as a body may have; every call makes another one. */
  minimal(): Record<string, unknown>;
  full(): Record<string, unknown>;
  /** A change of one member, which no body above has. */
  change: Record<string, unknown>;
  /** The members of a full body that a PUT of a minimal one clears, with their values afterwards. */
  cleared: Record<string, unknown>;
  /** Members that no edit changes, or that are never shown again. */
  fixed?: string[];
  hidden?: string[];
  /** Bodies that are refused, by the member that is to blame. */
  refused: Record<string, Record<string, unknown>>;
  /** Reads a member of the entity by the key that writes it. */
  read(entity: Entity, key: string): unknown;
}

let count = 0;
const unique = (): string => `${process.pid}-${++count}`;
const address = (): string => `person-${unique()}@example.com`;
const PASSWORD = "Vermilion-Kettle-42";
const person = () => ({
  username: `user-${unique()}`,
  firstName: "Ada",
  lastName: "Lovelace",
  email: address(),
  role: 1,
  plainPassword: { password: PASSWORD, confirm: PASSWORD },
});
const readMember = (entity: Entity, key: string): unknown => entity[key];
const readOfContact = (entity: Entity, key: string): unknown =>
  key === "lead" ? (entity.lead as Entity).id : entity[key];

/** An address without a server: names below `.invalid` do not exist (RFC 6761, 6.4). */
const REMOTE_FILE = "https://files.invalid/guide.pdf";

/** The first of a database: what belongs to a contact belongs to it. */
const CONTACT_ID = 1;

export async function addFirstContact(api: Client): Promise<void> {
  await api("POST", "contacts/new", { email: address() });
}

/** Filters are answered in two forms at once, of which a caller sends one. */
const readSegment = (entity: Entity, key: string): unknown => {
  const value = entity[key];
  if (key !== "filters" || !Array.isArray(value)) return value;
  return value.map(({ properties: _properties, display: _display, ...filter }) => filter);
};

/** The sent members of fields and actions: all others get values by themselves. */
const readForm = (entity: Entity, key: string): unknown => {
  const value = entity[key];
  if ((key !== "fields" && key !== "actions") || typeof value !== "object" || value === null) return value;
  const sent = key === "fields" ? ["label", "type", "isRequired"] : ["type", "name", "properties"];
  return Object.values(value).map((item) => Object.fromEntries(sent.map((name) => [name, item[name]])));
};

/** The bodies of resources that have rules of their own. */
const byHand: (Bodies & { path: string })[] = [
  {
    path: "contacts",
    minimal: () => ({ email: address() }),
    full: () => ({
      email: address(),
      firstname: "Ada",
      lastname: "Lovelace",
      city: "London",
      country: "France",
    }),
    change: { position: "Countess" },
    cleared: { firstname: null, lastname: null, city: null, country: null },
    refused: {
      email: { email: "not an address" },
      firstname: { firstname: { nested: true } },
      lastname: { lastname: "x".repeat(192) },
      country: { country: "Atlantis" },
      points: { points: "many" },
    },
    read: (entity, key) => (entity as Contact).fields.all[key],
  },
  {
    path: "segments",
    minimal: () => ({ name: `Segment ${unique()}` }),
    full: () => ({
      name: `Segment ${unique()}`,
      publicName: "People of Paris",
      description: "For letters in French",
      isGlobal: false,
      isPreferenceCenter: true,
      filters: [{ glue: "and", object: "lead", field: "city", type: "text", operator: "=", filter: "Paris" }],
    }),
    change: { isPublished: false },
    cleared: { description: null, filters: [] },
    refused: {
      name: { description: "without a name" },
      publicName: { name: "A", publicName: "x".repeat(192) },
      category: { name: "A", category: 2_000_000_000 },
      filters: { name: "A", filters: [{ field: "shoe_colour", operator: "=", filter: "red" }] },
    },
    read: readSegment,
  },
  {
    path: "campaigns",
    minimal: () => ({ name: `Campaign ${unique()}` }),
    full: () => ({
      name: `Campaign ${unique()}`,
      description: "Welcomes people",
      allowRestart: true,
      publishUp: "2026-01-01T03:04:00+00:00",
      publishDown: "2096-01-02T03:04:00+00:00",
    }),
    change: { description: "Says farewell" },
    cleared: {
      description: null,
      allowRestart: false,
      publishUp: null,
      publishDown: null,
      isPublished: false,
    },
    refused: {
      name: { name: " " },
      allowRestart: { name: "A", allowRestart: "perhaps" },
      category: { name: "A", category: 2_000_000_000 },
      lists: { name: "A", lists: [{ id: 2_000_000_000 }] },
      forms: { name: "A", forms: [{ id: 2_000_000_000 }] },
      "lists[0]": { name: "A", lists: [{ name: "none" }] },
      canvasSettings: { name: "A", canvasSettings: "drawn" },
      "events[0]": { name: "A", events: ["one"] },
      "events[0].type": { name: "A", events: [{ id: "new_1", name: "A" }] },
    },
    read: readMember,
  },
  {
    path: "companies",
    minimal: () => ({ companyname: `Company ${unique()}` }),
    full: () => ({
      companyname: `Company ${unique()}`,
      companyemail: address(),
      companycity: "Paris",
      companycountry: "France",
      companyindustry: "Education",
      companynumber_of_employees: 12,
    }),
    change: { companywebsite: "https://example.com" },
    cleared: {
      companyemail: null,
      companycity: null,
      companyindustry: null,
      companynumber_of_employees: null,
    },
    refused: {
      companyname: { companycity: "Nowhere" },
      companyemail: { companyname: "A", companyemail: "not an address" },
      companyindustry: { companyname: "A", companyindustry: "Alchemy" },
      companynumber_of_employees: { companyname: "A", companynumber_of_employees: "many" },
    },
    read: (entity, key) => (entity as Contact).fields.all[key],
  },
  ...["contact", "company"].map((object) => ({
    path: `fields/${object}`,
    minimal: () => ({ label: `Field ${unique()}` }),
    full: () => ({
      label: `Field ${unique()}`,
      description: "Of some use",
      type: "text",
      group: "personal",
      order: 7,
      defaultValue: "unknown",
      isRequired: false,
      isPubliclyUpdatable: true,
    }),
    change: { order: 99 },
    cleared: { description: null, defaultValue: null, isPubliclyUpdatable: false, isPublished: false },
    refused: {
      label: { label: "" },
      type: { label: "A", type: "hologram" },
      group: { label: "A", group: "nowhere" },
      alias: { label: "A", alias: "date_added" },
      defaultValue: { label: "A", type: "number", defaultValue: "many" },
      properties: { label: "A", type: "select", properties: { list: [] } },
      charLengthLimit: { label: "A", charLengthLimit: 0 },
    },
    read: readMember,
  })),
  {
    path: "hooks",
    minimal: () => ({ name: `Hook ${unique()}`, webhookUrl: "https://example.com/hook" }),
    full: () => ({
      name: `Hook ${unique()}`,
      description: "Told of everything",
      webhookUrl: "https://example.com/hook?a=1",
      secret: "a secret of one's own",
      eventsOrderbyDir: "DESC",
      isPublished: true,
      triggers: ["svc.lead_post_save_new", "svc.lead_post_delete"],
    }),
    change: { description: "Changed" },
    cleared: { description: null, eventsOrderbyDir: null, isPublished: false, triggers: [] },
    refused: {
      name: { name: "", webhookUrl: "https://example.com/" },
      webhookUrl: { name: "No address", webhookUrl: "gopher://example.com" },
      eventsOrderbyDir: { name: "Order", webhookUrl: "https://example.com/", eventsOrderbyDir: "SIDEWAYS" },
      isPublished: { name: "Flag", webhookUrl: "https://example.com/", isPublished: "constructor" },
      triggers: { name: "Triggers", webhookUrl: "https://example.com/", triggers: [["nested"]] },
    },
    read: readMember,
  },
  {
    path: "assets",
    minimal: () => ({ title: `Asset ${unique()}`, storageLocation: "remote", file: REMOTE_FILE }),
    full: () => ({
      title: `Asset ${unique()}`,
      alias: `asset-${unique()}`,
      description: "<p>All there is to know</p>",
      language: "fr",
      storageLocation: "remote",
      file: REMOTE_FILE,
      disallow: false,
    }),
    change: { language: "de" },
    cleared: { description: null, language: "" },
    refused: {
      title: { storageLocation: "remote", file: REMOTE_FILE },
      file: { title: "A" },
      storageLocation: { title: "A", storageLocation: "moon", file: REMOTE_FILE },
      remotePath: { title: "A", storageLocation: "remote", file: "nowhere" },
    },
    read: readMember,
  },
  {
    path: "emails",
    minimal: () => ({ name: `Email ${unique()}`, subject: "Hello" }),
    full: () => ({
      name: `Email ${unique()}`,
      subject: "Hello {contactfield=firstname}",
      language: "fr",
      fromAddress: "{contactfield=owner_email}",
      fromName: "Ada",
      replyToAddress: address(),
      bccAddress: address(),
      useOwnerAsMailer: false,
      utmTags: { utmSource: "letter", utmMedium: "email", utmCampaign: "spring", utmContent: "a" },
      preheaderText: "What is new",
      customHtml: "<html><body><p>Hello <b>you</b></p></body></html>",
      plainText: "Hello you",
      template: "blank",
      emailType: "template",
      publicPreview: true,
      variantSettings: { weight: 30, winnerCriteria: "email.openrate" },
      dynamicContent: [
        {
          tokenName: "greeting",
          content: "<p>Hello</p>",
          filters: [
            {
              content: "<p>Bonjour</p>",
              filters: [
                {
                  glue: "and",
                  field: "country",
                  object: "lead",
                  type: "country",
                  operator: "=",
                  filter: "France",
                },
              ],
            },
          ],
        },
      ],
      headers: { "X-Campaign": "spring" },
    }),
    change: { subject: "Changed" },
    cleared: {
      fromAddress: null,
      customHtml: null,
      utmTags: [],
      headers: [],
      dynamicContent: [],
      publicPreview: false,
    },
    refused: {
      name: { subject: "Hello" },
      subject: { name: "A" },
      fromAddress: { name: "A", subject: "B", fromAddress: "nobody" },
      bccAddress: { name: "A", subject: "B", bccAddress: "a@b@c" },
      lists: { name: "A", subject: "B", emailType: "list" },
      utmTags: { name: "A", subject: "B", utmTags: "many" },
      headers: { name: "A", subject: "B", headers: { "X-A": "b\r\nBcc: c@example.com" } },
      "dynamicContent[0].filters[0].filters[0].operator": {
        name: "A",
        subject: "B",
        dynamicContent: [{ filters: [{ filters: [{ field: "city", operator: "near" }] }] }],
      },
      "variantSettings.weight": { name: "A", subject: "B", variantSettings: { weight: 101 } },
      preheaderText: { name: "A", subject: "B", preheaderText: "x".repeat(131) },
    },
    read: readMember,
  },
  {
    path: "pages",
    minimal: () => ({ title: `Page ${unique()}` }),
    full: () => ({
      title: `Page ${unique()}`,
      alias: `page_${unique()}`,
      description: "<p>About us</p>",
      language: "fr",
      metaDescription: "All about us",
      redirectType: 302,
      redirectUrl: "https://example.com/",
      isPreferenceCenter: true,
      noIndex: true,
      template: "blank",
      customHtml: "<html><body><script>1</script></body></html>",
      variantSettings: { weight: 50, winnerCriteria: "page.dwelltime" },
    }),
    change: { metaDescription: "Changed" },
    cleared: {
      description: null,
      redirectType: null,
      redirectUrl: null,
      customHtml: null,
      variantSettings: [],
      noIndex: false,
    },
    refused: {
      title: { title: " " },
      redirectType: { title: "A", redirectType: 200 },
      redirectUrl: { title: "A", redirectType: 301, redirectUrl: "javascript:alert(1)" },
      variantParent: { title: "A", variantParent: 2_000_000_000 },
      "variantSettings.winnerCriteria": { title: "A", variantSettings: { winnerCriteria: "luck" } },
    },
    read: readMember,
  },
  {
    path: "dynamiccontents",
    minimal: () => ({ name: `Content ${unique()}`, isCampaignBased: true }),
    full: () => ({
      name: `Content ${unique()}`,
      description: "For the front page",
      isCampaignBased: false,
      slotName: "hero",
      content: "<h1>Hello</h1>",
      filters: [{ glue: "and", object: "lead", field: "city", type: "text", operator: "=", filter: "Paris" }],
      utmTags: { utmSource: "web" },
      language: "fr",
    }),
    change: { content: "<h1>Changed</h1>" },
    cleared: { description: null, slotName: null, content: null, filters: [], utmTags: [] },
    refused: {
      name: { isCampaignBased: true },
      slotName: { name: "A", isCampaignBased: false, filters: [{ field: "city", operator: "=" }] },
      filters: { name: "A", isCampaignBased: false, slotName: "hero" },
      "filters[0].operator": { name: "A", filters: [{ field: "city", operator: "near" }] },
    },
    read: readMember,
  },
  {
    path: "notifications",
    minimal: () => ({ name: `Notification ${unique()}`, heading: "News", message: "There is news" }),
    full: () => ({
      name: `Notification ${unique()}`,
      heading: "News",
      message: "There is news",
      url: "https://example.com/news",
      button: "Read it",
      language: "fr",
      utmTags: { utmSource: "push" },
      mobile: true,
      mobileSettings: { ios_badges: "Increase" },
    }),
    change: { heading: "More news" },
    cleared: { url: null, button: null, utmTags: [], mobile: false, mobileSettings: [] },
    refused: {
      name: { heading: "A", message: "B" },
      heading: { name: "A", message: "B" },
      message: { name: "A", heading: "B" },
      url: { name: "A", heading: "B", message: "C", url: "nowhere" },
    },
    read: readMember,
  },
  {
    path: "focus",
    minimal: () => ({ name: `Bar ${unique()}`, type: "notice", style: "bar" }),
    full: () => ({
      name: `Bar ${unique()}`,
      description: "On top of every page",
      type: "link",
      style: "modal",
      website: "https://example.com",
      properties: { animate: "0", colors: { primary: "#4e5d9d" } },
      utmTags: { utmSource: "bar" },
      htmlMode: "html",
      html: "<p>Hello</p>",
      editor: "<p>Hello</p>",
    }),
    change: { website: "https://example.org" },
    cleared: { description: null, website: null, properties: [], utmTags: [], html: null },
    refused: {
      name: { type: "notice", style: "bar" },
      type: { name: "A", style: "bar" },
      style: { name: "A", type: "notice" },
      form: { name: "A", type: "form", style: "bar", form: 2_000_000_000 },
    },
    read: readMember,
  },
  {
    path: "messages",
    minimal: () => ({ name: `Message ${unique()}` }),
    full: () => ({
      name: `Message ${unique()}`,
      description: "By whatever way",
      channels: { email: { channel: "email", isEnabled: false } },
    }),
    change: { description: "Changed" },
    cleared: { description: null, channels: [] },
    refused: {
      name: { description: "without a name" },
      "channels[0].channel": { name: "A", channels: [{ channel: "pigeon" }] },
      "channels[0].channelId": { name: "A", channels: [{ channel: "sms", isEnabled: true }] },
    },
    read: (entity, key) => {
      const value = entity[key];
      if (key !== "channels" || !Array.isArray(value)) return value;
      const byName = value.map(({ channel, isEnabled }) => [channel, { channel, isEnabled }]);
      return byName.length > 0 ? Object.fromEntries(byName) : [];
    },
  },
  {
    path: "smses",
    minimal: () => ({ name: `Text ${unique()}` }),
    full: () => ({ name: `Text ${unique()}`, message: "Hello, 1 < 2", language: "fr", smsType: "template" }),
    change: { message: "Changed" },
    cleared: { message: null, language: "", smsType: "template" },
    refused: {
      name: { message: "without a name" },
      lists: { name: "A", smsType: "list" },
      "lists[0]": { name: "A", lists: ["a"] },
    },
    read: readMember,
  },
  {
    path: "points",
    minimal: () => ({ name: `Action ${unique()}`, type: "page.hit", delta: 1 }),
    full: () => ({
      name: `Action ${unique()}`,
      description: "<p>Of some interest</p>",
      type: "url.hit",
      delta: -5,
      properties: { page_url: "https://example.com/*" },
      repeatable: true,
      publishUp: "2026-01-02T03:04:05+00:00",
    }),
    change: { delta: 7 },
    cleared: { description: null, properties: [], repeatable: false, publishUp: null },
    refused: {
      name: { type: "page.hit", delta: 1 },
      type: { name: "A", delta: 1 },
      delta: { name: "A", type: "page.hit" },
      group: { name: "A", type: "page.hit", delta: 1, group: 2_000_000_000 },
      properties: { name: "A", type: "page.hit", delta: 1, properties: "pages" },
      "properties.pages": { name: "A", type: "page.hit", delta: 1, properties: { pages: ["constructor"] } },
      "properties.page_url": { name: "A", type: "url.hit", delta: 1 },
      repeatable: { name: "A", type: "page.hit", delta: 1, repeatable: "perhaps" },
    },
    read: readMember,
  },
  {
    path: "points/triggers",
    minimal: () => ({ name: `Trigger ${unique()}` }),
    full: () => ({
      name: `Trigger ${unique()}`,
      description: "Once they are warm",
      points: 50,
      color: "ff8800",
      triggerExistingLeads: true,
      publishDown: "2030-01-02T03:04:05+00:00",
    }),
    change: { points: 60 },
    cleared: { description: null, points: 0, triggerExistingLeads: false, publishDown: null },
    refused: {
      name: { points: 1 },
      color: { name: "A", color: "red" },
      points: { name: "A", points: "many" },
      "events[0].name": { name: "A", events: [{ type: "email.send" }] },
      "events[0].type": { name: "A", events: [{ name: "B", type: "toString" }] },
      "events[0].properties.email": {
        name: "A",
        events: [{ name: "B", type: "email.send", properties: { email: -1 } }],
      },
    },
    read: readMember,
  },
  {
    path: "forms",
    minimal: () => ({ name: `Form ${unique()}` }),
    full: () => ({
      name: `Form ${unique()}`,
      alias: "signup",
      description: "<p>Who wants letters</p>",
      formType: "campaign",
      postAction: "redirect",
      postActionProperty: "https://example.com/thanks",
      template: "blank",
      inKioskMode: true,
      renderStyle: true,
      noIndex: false,
      formAttributes: 'class="wide"',
      language: "fr",
      progressiveProfilingLimit: 3,
      fields: [
        { label: "Email", type: "email", isRequired: true },
        { label: "Send", type: "button", isRequired: false },
      ],
      actions: [{ type: "lead.pointschange", name: "Points", properties: { operator: "plus", points: 2 } }],
    }),
    change: { postAction: "message", postActionProperty: "Thank you" },
    cleared: {
      description: null,
      formType: "standalone",
      postAction: "return",
      postActionProperty: null,
      inKioskMode: false,
      fields: [],
      actions: [],
    },
    refused: {
      name: { formType: "campaign" },
      formType: { name: "A", formType: "poem" },
      postActionProperty: { name: "A", postAction: "redirect", postActionProperty: "nowhere" },
      progressiveProfilingLimit: { name: "A", progressiveProfilingLimit: -1 },
      "fields[0]": { name: "A", fields: ["text"] },
      "fields[0].isRequired": { name: "A", fields: [{ label: "B", type: "text", isRequired: "perhaps" }] },
    },
    read: readForm,
  },
  {
    path: "notes",
    minimal: () => ({ text: `Note ${unique()}`, lead: CONTACT_ID }),
    full: () => ({
      text: `<p>Met <b>Ada</b>, ${unique()}</p>`,
      type: "meeting",
      dateTime: "2026-01-02T03:04:00+00:00",
      lead: CONTACT_ID,
    }),
    change: { type: "call" },
    cleared: { type: "general" },
    refused: {
      lead: { text: "Whose?" },
      type: { text: "Hello", type: "rumour", lead: CONTACT_ID },
      text: { text: "<script>alert(1)</script>", lead: CONTACT_ID },
    },
    read: readOfContact,
  },
  {
    path: "devices",
    minimal: () => ({ lead: CONTACT_ID }),
    full: () => ({
      lead: CONTACT_ID,
      device: "smartphone",
      deviceBrand: "Fairphone",
      deviceModel: "5",
      deviceOsName: "Android",
      deviceOsShortName: "AND",
      deviceOsVersion: "15",
      deviceOsPlatform: "ARM",
      clientInfo: { type: "browser", name: "Firefox" },
    }),
    change: { deviceOsVersion: "16" },
    cleared: { device: null, deviceBrand: null, deviceOsName: null, clientInfo: null },
    refused: {
      lead: { device: "tablet", lead: 2_000_000_000 },
      device: { device: "x".repeat(192), lead: CONTACT_ID },
      clientInfo: { clientInfo: "Firefox", lead: CONTACT_ID },
    },
    read: readOfContact,
  },
  {
    path: "tags",
    minimal: () => ({ tag: `tag ${unique()}` }),
    full: () => ({ tag: `tag ${unique()}`, description: "A word" }),
    change: { description: "Another word" },
    cleared: { description: null },
    refused: { tag: { tag: "" }, description: { tag: "described", description: ["a", "list"] } },
    read: readMember,
  },
  {
    path: "roles",
    minimal: () => ({ name: `Role ${unique()}` }),
    full: () => ({
      name: `Role ${unique()}`,
      description: "Looks after contacts",
      isAdmin: false,
      rawPermissions: { "lead:leads": ["full"], "api:access": ["full"] },
    }),
    change: { description: "Looks after companies" },
    cleared: { description: null, rawPermissions: null, isPublished: false },
    refused: {
      name: { name: "" },
      rawPermissions: { name: "Too much", rawPermissions: { "lead:leads": ["everything"] } },
      isAdmin: { name: "Perhaps", isAdmin: "perhaps" },
    },
    read: readMember,
  },
  {
    path: "users",
    minimal: () => person(),
    full: () => ({
      ...person(),
      position: "Analyst",
      timezone: "Europe/Paris",
      locale: "fr",
      signature: "<b>Ada</b>",
      isPublished: true,
    }),
    change: { position: "Countess" },
    cleared: { position: null, signature: null, timezone: "", locale: "", isPublished: false },
    fixed: ["username"],
    hidden: ["plainPassword"],
    refused: {
      username: { ...person(), username: "" },
      firstName: { ...person(), firstName: "" },
      lastName: { ...person(), lastName: " " },
      email: { ...person(), email: "not an address" },
      role: { ...person(), role: 2_000_000_000 },
      plainPassword: { ...person(), plainPassword: { password: "password", confirm: "password" } },
      timezone: { ...person(), timezone: "Middle/Earth" },
      locale: { ...person(), locale: "tlh_QQQ" },
    },
    read: (entity, key) => (key === "role" ? (entity.role as Entity).id : entity[key]),
  },
];

/** Every resource with the standard operations: what its declaration says is sent where nothing is written by hand. */
export const resources: Resource[] = mounted.map(({ path, one, many, shape, total, service }) => ({
  ...(byHand.find((bodies) => bodies.path === path) ?? declaredBodies(standardOf(service).resource, unique)),
  path,
  one,
  many,
  shape,
  total: total === "int" ? "number" : "string",
}));
