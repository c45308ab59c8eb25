/** How a receiver verifies a call. The documentation shows these and a test runs them. Each defines one function. */
export const webhookExamples = {
  nodeWithPackage: `import { Webhook } from 'standardwebhooks' // npm install standardwebhooks

const webhook = new Webhook(process.env.WEBHOOK_SECRET) // whsec_…

/** \`body\` is the raw text, before any parsing. Throws unless Punctual signed it in the last 5 minutes. */
export function eventFrom(headers, body) {
  return webhook.verify(body, headers)
}
`,
  node: `import { createHmac, timingSafeEqual } from 'node:crypto'

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace('whsec_', ''), 'base64')

export function eventFrom(headers, body) {
  const timestamp = headers['webhook-timestamp']
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) throw new Error('Too old')

  const signed = \`\${headers['webhook-id']}.\${timestamp}.\${body}\`
  const expected = createHmac('sha256', secret).update(signed).digest()
  const isOurs = headers['webhook-signature'].split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',')
    const given = Buffer.from(value, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!isOurs) throw new Error('Not signed with our secret')

  return JSON.parse(body)
}
`,
  pythonWithPackage: `import os
from standardwebhooks.webhooks import Webhook  # pip install standardwebhooks

webhook = Webhook(os.environ["WEBHOOK_SECRET"])  # whsec_…


def event_from(headers, body):
    return webhook.verify(body, headers)
`,
  python: `import base64, hashlib, hmac, json, os, time

secret = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))


def event_from(headers, body):
    timestamp = headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        raise ValueError("Too old")

    # body: the raw bytes, before any parsing
    signed = f"{headers['webhook-id']}.{timestamp}.".encode() + body
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers["webhook-signature"].split(" ")
    if not any(hmac.compare_digest(one, expected) for one in given):
        raise ValueError("Not signed with our secret")

    return json.loads(body)
`,
}
