const EXTENDED_UNPUBLISHED = "viewown viewother editown editother create deleteown deleteother full".split(
  " ",
);
const EXTENDED = [...EXTENDED_UNPUBLISHED, "publishown", "publishother"];
const STANDARD_UNPUBLISHED = "view edit create delete full".split(" ");
const STANDARD = [...STANDARD_UNPUBLISHED, "publish"];

/** Every right there is: group, resource, and the actions that a role can hold on it. */
const GROUPS: Record<string, Record<string, string[]>> = {
  api: { access: ["full"], clients: STANDARD_UNPUBLISHED },
  asset: { assets: EXTENDED, categories: STANDARD },
  campaign: { campaigns: EXTENDED, categories: STANDARD },
  category: { categories: STANDARD },
  channel: { messages: EXTENDED, categories: STANDARD },
  core: { themes: STANDARD },
  dynamiccontent: { dynamiccontents: EXTENDED, categories: STANDARD },
  email: { emails: EXTENDED, categories: STANDARD },
  focus: { items: EXTENDED, categories: STANDARD },
  form: { forms: EXTENDED, categories: STANDARD, export: ["enable"] },
  lead: {
    leads: EXTENDED_UNPUBLISHED,
    lists: EXTENDED_UNPUBLISHED,
    fields: ["view", "full"],
    imports: STANDARD,
    export: ["enable"],
  },
  marketplace: { packages: STANDARD_UNPUBLISHED },
  notification: { notifications: EXTENDED, mobile_notifications: EXTENDED, categories: STANDARD },
  page: { pages: EXTENDED, preference_center: EXTENDED, categories: STANDARD },
  plugin: { plugins: ["manage"] },
  point: { points: STANDARD, triggers: STANDARD, groups: STANDARD, categories: STANDARD },
  report: { reports: EXTENDED, export: ["enable"] },
  sms: { smses: EXTENDED, categories: STANDARD },
  stage: { stages: STANDARD, categories: STANDARD },
  svcSocial: { tweets: EXTENDED, monitoring: STANDARD, categories: STANDARD },
  tagManager: { tagManager: STANDARD_UNPUBLISHED },
  user: {
    profile: ["editusername", "editemail", "editposition", "editname", "full"],
    users: STANDARD_UNPUBLISHED,
    roles: STANDARD_UNPUBLISHED,
  },
  webhook: { webhooks: EXTENDED, categories: STANDARD },
};

/** Permission base (`lead:leads`) to its actions. */
export const permissionTable: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(GROUPS).flatMap(([group, resources]) =>
    Object.entries(resources).map(([resource, actions]) => [`${group}:${resource}`, actions] as const),
  ),
);
