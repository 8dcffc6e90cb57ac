/** A time, as answers have them. */
export const DATE = "2026-05-01T10:00:00+00:00";
const UUID = "8e03978e-40d5-43dd-bc93-6894a57f9324";

/**
 * Values of members in examples of answers if no body says them: by message and name, else by name alone, where it is of their
 * type.
 */
export const EXAMPLE_VALUES: ReadonlyMap<string, unknown> = new Map<string, unknown>(
  Object.entries({
    // entities: new ones, of which nothing was read yet
    ...{ id: 1, isPublished: true, dateAdded: DATE, createdBy: 1, createdByUser: "Admin User", revision: 1 },
    ...{ name: "Spring", title: "Spring", alias: "spring", language: "en", bundle: "global" },
    ...{ "Field.alias": "shoe_size", "Field.object": "lead", "Field.isVisible": true },
    ...{ "Field.isListable": true, "Field.properties": { roundmode: 4, scale: 0 } },
    ...{ "Campaign.alias": "welcome", "Asset.alias": "guide", "Category.alias": "letters" },
    ...{ "Form.alias": "sign_up", "FormField.alias": "email", "Page.alias": "about-us" },
    ...{
      "Segment.alias": "londoners",
      "Segment.publicName": "Londoners",
      "Segment.properties": { filter: "London" },
      "Stage.alias": "customer",
    },
    ...{ "Asset.extension": "pdf", "Asset.mime": "application/pdf" },
    ...{ "Asset.downloadUrl": "https://www.example.com/asset/1:guide" },
    ...{ "Tweet.url": null, "Notification.url": null, "FocusItem.html": null, "User.lastActive": null },
    ...{
      "Webhook.secret": "whsec_ZXhhbXBsZQ==",
      "Webhook.signatureScheme": "standard",
      "Device.clientInfo": null,
    },
    ...{ sentCount: 0, readCount: 0, downloadCount: 0, uniqueDownloadCount: 0, variantSentCount: 0 },
    ...{ variantReadCount: 0, favoriteCount: 0, retweetCount: 0, viewCount: 0, uniqueViewCount: 0 },
    ...{ clickCount: 0, uniqueClickCount: 0, hits: 0, uniqueHits: 0, variantHits: 0 },
    // contacts and users
    ...{ firstName: "Ada", lastName: "Lovelace", preferredProfileImage: "gravatar", points: 0, score: 0 },
    ...{
      dateIdentified: DATE,
      ipAddresses: {},
      frequencyRules: {},
      address: "ada@example.com",
      contactId: 1,
    },
    ...{
      proof: "form",
      by: "contact",
      at: DATE,
      given: true,
      userId: 1,
      userName: "Admin User",
      objectId: 1,
    },
    // campaigns
    ...{ campaign_id: "1", lead_id: "1", date_added: "2026-05-01 10:00:00", rotation: 1, order: 1 },
    ...{ manually_added: "1", manually_removed: "0", type: "email.send", eventType: "action" },
    ...{ dateTriggered: DATE, manuallyAdded: true },
    // sends, jobs and builds
    ...{ channel: "email", occasion: "broadcast", state: "sent", status: "sent", emailId: 1, hash: UUID },
    ...{ dueAt: DATE, startedAt: DATE, dateSent: DATE, finishedAt: DATE, code: "250", chosen: 1, sent: 1 },
    ...{ kind: "segment_build", done: 120, progress: 100, count: 1, total: 1, next: "2", added: 1 },
    ...{ dateStarted: DATE, dateEnded: DATE, lastBuiltDate: DATE, lastBuiltSeconds: 0.4 },
    // visits and mails
    ...{ ip: "203.0.113.7", host: "www.example.com", page: 1, url: "https://www.example.com/spring" },
    ...{ dateSubmitted: DATE, trackingId: UUID, referer: "https://www.example.com/", valid: true },
    ...{ subject: "Hello Ada", html: "<p>Hello Ada</p>", text: "Hello Ada", bytes: 1_630, tracked: true },
    ...{ wouldSend: 1, would: "Send an email" },
    // other words
    ...{ group: "core", tag: "vip", object: "email", action: "create" },
  }),
);
