/**
 * Callbacks that were signed once by keys of no use: each is accepted at this time, with these secrets. They are not signed by the code
 * that checks them.
 */
export const SIGNED_AT = Date.parse("2027-01-01T00:00:00Z");

export const BODY = '[{"event":"bounce","email":"ada@example.org"}]';

export const GENERIC = {
  secret: "generic-secret-0123",
  headers: { "tidings-signature": "sha256=94a89ae5a46c9bab502fc61921edd4ef6bae90ffe2363def36ddf2f72a245d72" },
};

export const SENDGRID = {
  secret:
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEo1CmCRf9nwz6QC4ymayKqsTAs+CkpHgFtVjq8g3fwoPvwdLsyaFXqvMyvyKwm67SIFbkFrOJSN5sSjUma7UuOQ==",
  headers: {
    "x-twilio-email-event-webhook-timestamp": "1798761600",
    "x-twilio-email-event-webhook-signature":
      "MEQCIG2ML0Mx2nhXg0bc5f4Xm+yNJ1LndIPXlEp15kxwG/0zAiBHwOjaVW24N3WDg9Kiy5HuiDSHBlb55hM6zYMuwwQuyA==",
  },
};

export const MAILGUN = {
  secret: "mailgun-key-0123456",
  signature: {
    timestamp: "1798761600",
    token: "token-1",
    signature: "fc01f7f7cc7051d35df6273b6a8f6226a7395e120357d43e51fff26785d4944b",
  },
};

export const SNS = {
  topic: "arn:aws:sns:eu-west-1:123456789012:bounces",
  certificateUrl: "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem",
  notification: {
    Type: "Notification",
    MessageId: "m-1",
    TopicArn: "arn:aws:sns:eu-west-1:123456789012:bounces",
    Message: '{"notificationType":"Bounce"}',
    Timestamp: "2027-01-01T00:00:00.000Z",
  },
  /** The signatures of the notification, by version. */
  signatures: {
    "1": "OhxYvK0U6PqMGyrj+4RNVWMbXt7MH2BUDD3btceQj/vsGsaV38Vge/jtBZSn9AQHu/7bGDY+Ko8fGcYGYENh6k0hUeLRMfExsrS4RNnOpbwYiR7gwbCkS26WGBHl5wteikvRot0BcbONqJopNDmVGw0cn0RFWk3AROm3W4r4xn36+6YkhjOyKR/qtJS1KpyxVD0hrfB1tzkohiQqFwILuGLUMLPD+FsTz24RhAH13nI99+x1WYjXDgHMKrTqrhbQVkfOcZLHiV6WdJC0TAubX55uHcnrPCj78VVVTE5yqpTFAc36PsMs5xLk1B8JRQqzQ3HpipSHKyZrw4c1tbePRg==",
    "2": "BOl/cZ4oSiIksK4PXtvHGZ4pIuimc59xXq38bKztzO9h0B5RvSz4oGFVYDdhMQ+R7SdioWXSVHgpxCWxttby4J5qIF4cmZm373I6PxIPFbvitKJxZAvw7Rrmwqu8LOED3fRmjfOcYx0ZAjcPAoUV+M2DuRLWSP8S2SSHm5LlBbtKYxl3NrTptMHQNWAxd7FVEe9S5inl2gK2u0/6/7tQY9K5/4EOjIry0AFu1KSwxV+ulfDkx2brFkJ9n6cX+OLHCch1vqiOVvX8aqljYnBFlvsNrwb59k8MzjkJ0DCDKeDuSkusbIqebHyAocDvqlA+sjjjAnxENebcH6apSMdkWw==",
  },
  confirmation: {
    Type: "SubscriptionConfirmation",
    MessageId: "m-2",
    TopicArn: "arn:aws:sns:eu-west-1:123456789012:bounces",
    Message: "You have chosen to subscribe",
    Token: "t-1",
    SubscribeURL: "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t-1",
    Timestamp: "2027-01-01T00:00:00.000Z",
    SignatureVersion: "2",
    Signature:
      "blFvfFwoU7JtC6r7HbrM8e/1CsxfA4sJc8O9PavsfHg0FeXLUeDG7UX6pxG3BA5SKQAyC/DjRLsL3JIB9plcBsnXvWN1ylsMhv4YSYnk/HmeJ2IPtQCBgASsTUxuSa6SPAxY7kpU/568p1qEcmIh20tI6MN4eMxVrdRMa2pc9so/cR7Ou+eZrElGuPMBEpXW+ZD82f4frXv0IR8lOPuyS0dEPVZi7lxNGuMunKlodc0IZlFfnKpUUwOVMfDazknrCo8coh40h3m9rEw6wFpDLBl1oD8ujAqkl4r0QsW/b7Z+u33/Yn0J/0ui0HxcxLrVVGjubppDXf7sBCVI1qcZKA==",
  },
  certificate: `-----BEGIN CERTIFICATE-----
MIIDGzCCAgOgAwIBAgIUDEa5tuRDEJwaLQO4bXKdiQLH0yYwDQYJKoZIhvcNAQEL
BQAwHDEaMBgGA1UEAwwRc25zLmFtYXpvbmF3cy5jb20wIBcNMjYxMTI2MDM1OTU0
WhgPMjEyNjExMDIwMzU5NTRaMBwxGjAYBgNVBAMMEXNucy5hbWF6b25hd3MuY29t
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwGt8MV0ug0hLtf8YIMmD
i9akhb807eCw3LKiDJakt3hHmjBMtAOHcBeiFmegVlqZF4edowwWYyFPY+WHJcpF
v3jlyXAROvBDBts4GlYbxbLqG0uxX9USxWDxEHBmCT7LZ6WW6Nx0giTOv5tEhLk1
x5xns1Pgy03NtpRa3LMCCYlcFrP8nJ6fqUnM+w2oigcy/Bjy6dQN0JEvMJr00hzS
98hiFi/4yHDdbaxxJKzs0Um1rCvc2LbjlbxmxaE3VOV1M2+7OhpX+XOVi5Yhl5yA
p7MvNHmSUe5aqiqTndaFi4h17SbNrK4PVh0fdkRcjlXK9Y5JaH+siH1o3QITTbjj
FQIDAQABo1MwUTAdBgNVHQ4EFgQU4gBq7lJJ06w0gs9aoSbI4wKUM4owHwYDVR0j
BBgwFoAU4gBq7lJJ06w0gs9aoSbI4wKUM4owDwYDVR0TAQH/BAUwAwEB/zANBgkq
hkiG9w0BAQsFAAOCAQEAJvATd1nCNl6EeY1l4FksVnXYAmeJL3lB124cHRofOqaY
v06UearAXhJBz75EY4U6CGJHcC6Cfoy3L46oUzDzjLnfPbf6J9PMV4mhQx/Kd4uO
0e52T+YQE52UjKBuolTj9vBhgL8c8yfdKipuhOEXE9Jc9QFGiJyJdYb4TkIyShBL
JY22/bZXDDOPoK4OYQ6LAwBWsZriY+iqZ1aZ5qYvoFzGNuhCTCqpmGn1Pkk3d9KU
fG8HzJwLzc8oi+v1zL24auLelAikdmcYjhVpkdNkcQeu9B6kBU43n93ZQD1nkNw4
x9qbIfN/QPS88HrWxBk9B82hlfxlprJqSxZ7KcfmDw==
-----END CERTIFICATE-----`,
};
