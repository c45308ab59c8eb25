import type { z } from 'zod'
import { Me } from '../accounts/answers.ts'
import { listOf } from '../answers.ts'
import { Channel } from '../channels/answers.ts'
import type { ApiFailureCode } from '../error-catalogue.ts'
import { Media } from '../media/answers.ts'
import { Attempt, Post, Validation } from '../posts/answers.ts'
import { Webhook, WebhookDelivery, WebhookWithSecret } from '../webhooks/answers.ts'

/** Where the public API begins. */
export const Prefix = '/public/v1'

/** One row of the public API. `does` names the procedure: its scope and input are read from it. */
export type Route = {
  method: 'get' | 'post' | 'patch' | 'delete'
  path: string // below /public/v1, with `:name` for what goes to the procedure's input of that name
  status: 200 | 201 | 204
  does: string | null // null: serves the OpenAPI document, to anybody
  about: string // what it is for, in the documentation
  answer?: z.ZodType // what comes back
  query?: true // takes parameters in the URL
  body?: 'json' | 'file'
  takes?: string // the name of the body's schema
  example?: Record<string, unknown> // of a body
  idempotent?: true // takes an Idempotency-Key
  ifMatch?: true // takes If-Match
  location?: string // where the new thing is read, its id appended
  refusals?: ApiFailureCode[] // besides those that every route of its form has
}

const InTheWay: ApiFailureCode[] = ['post_already_publishing', 'post_already_published', 'post_already_cancelled']
const OfEdits: ApiFailureCode[] = [...InTheWay, 'post_failed', 'post_needs_review']

/** The public API: the requests are served by rest.ts and documented by openapi.ts from this one table. */
export const routes: Route[] = [
  { method: 'get', path: '/me', status: 200, does: 'account.whoami', answer: Me, about: 'Who is calling' },
  {
    method: 'get',
    path: '/channels',
    status: 200,
    does: 'channels.list',
    answer: listOf(Channel),
    query: true,
    about: 'List channels, oldest first. Disconnected channels only with `status=DISCONNECTED`',
  },
  {
    method: 'get',
    path: '/channels/:id',
    status: 200,
    does: 'channels.get',
    answer: Channel,
    about: 'Read a channel',
  },
  {
    method: 'post',
    path: '/posts',
    status: 201,
    does: 'posts.create',
    answer: Post,
    body: 'json',
    takes: 'NewPost',
    idempotent: true,
    location: '/posts/',
    refusals: ['unprocessable'],
    about: 'Create a post: scheduled, published now, or a draft',
    example: {
      type: 'schedule',
      date: '2026-12-24T18:00:00.000Z',
      content: 'Happy holidays!',
      channelIds: ['019a4c12-7d30-7c3e-9f5a-2b1d6c8e4f01'],
    },
  },
  {
    method: 'post',
    path: '/posts/validate',
    status: 200,
    does: 'posts.validate',
    answer: Validation,
    body: 'json',
    takes: 'NewPost',
    about: 'Check a post without creating it. Nothing is stored',
    example: { type: 'now', content: 'Is this too long?', channelIds: ['019a4c12-7d30-7c3e-9f5a-2b1d6c8e4f01'] },
  },
  {
    method: 'get',
    path: '/posts',
    status: 200,
    does: 'posts.list',
    answer: listOf(Post),
    query: true,
    about: 'List posts by date or by last change, newest first by default. Drafts without a date come last',
  },
  { method: 'get', path: '/posts/:id', status: 200, does: 'posts.get', answer: Post, about: 'Read a post' },
  {
    method: 'patch',
    path: '/posts/:id',
    status: 200,
    does: 'posts.update',
    answer: Post,
    body: 'json',
    takes: 'PostChanges',
    ifMatch: true,
    refusals: [...OfEdits, 'unprocessable'],
    about:
      "Change a post that isn't published on any channel yet. Fields that you leave out stay. Lists replace the old lists",
    example: { content: 'Happy new year!', date: '2026-12-31T23:00:00.000Z' },
  },
  {
    method: 'delete',
    path: '/posts/:id',
    status: 204,
    does: 'posts.cancel',
    ifMatch: true,
    refusals: [...InTheWay, 'post_needs_review'],
    about:
      "Cancel everything of a post that isn't published yet. A draft is deleted. You can still read any other post",
  },
  {
    method: 'post',
    path: '/posts/:id/retry',
    status: 200,
    does: 'posts.retry',
    answer: Post,
    idempotent: true,
    ifMatch: true,
    refusals: ['nothing_to_retry', 'unprocessable'],
    about: 'Send the failed deliveries of a post again, but never the published ones',
  },
  {
    method: 'post',
    path: '/posts/:id/deliveries/:channelId/resolve',
    status: 200,
    does: 'posts.resolve',
    answer: Post,
    body: 'json',
    takes: 'Resolution',
    idempotent: true,
    ifMatch: true,
    refusals: ['nothing_to_resolve', 'unprocessable'],
    about: 'Resolve a delivery in NEEDS_REVIEW: it was published, send it, or cancel it',
    example: { outcome: 'published', url: 'https://social.example/@ada/113' },
  },
  {
    method: 'get',
    path: '/posts/:id/attempts',
    status: 200,
    does: 'posts.attempts',
    answer: listOf(Attempt),
    query: true,
    about: 'List all attempts to send a post on all channels, oldest first',
  },
  {
    method: 'post',
    path: '/media',
    status: 201,
    does: 'media.create',
    answer: Media,
    body: 'file',
    takes: 'NewMedia',
    location: '/media/',
    refusals: ['media_not_accepted', 'storage_full'],
    about: 'Upload an image (up to 20 MB) or a video (up to 1 GB). We delete it after a week unless a post uses it',
  },
  {
    method: 'post',
    path: '/media/upload-from-url',
    status: 201,
    does: 'media.uploadFromUrl',
    answer: Media,
    body: 'json',
    takes: 'MediaFromUrl',
    idempotent: true,
    location: '/media/',
    refusals: ['media_fetch_failed', 'storage_full'],
    about: 'Fetch an image or a video from a public URL',
    example: { url: 'https://images.example/lake.jpg', alt: 'A lake at dawn' },
  },
  {
    method: 'get',
    path: '/media',
    status: 200,
    does: 'media.list',
    answer: listOf(Media),
    query: true,
    about: 'List media, newest first',
  },
  {
    method: 'get',
    path: '/media/:id',
    status: 200,
    does: 'media.get',
    answer: Media,
    about: "Read a media file's details",
  },
  {
    method: 'patch',
    path: '/media/:id',
    status: 200,
    does: 'media.update',
    answer: Media,
    body: 'json',
    takes: 'MediaChanges',
    about: 'Change the alt text',
    example: { alt: 'A lake at dawn' },
  },
  {
    method: 'delete',
    path: '/media/:id',
    status: 204,
    does: 'media.remove',
    refusals: ['media_in_use'],
    about: 'Delete a file that no post needs any more. Published posts stay as they are',
  },
  {
    method: 'get',
    path: '/webhooks',
    status: 200,
    does: 'webhooks.list',
    answer: listOf(Webhook),
    query: true,
    about: 'List webhooks, oldest first. An access token lists only its own webhooks',
  },
  {
    method: 'post',
    path: '/webhooks',
    status: 201,
    does: 'webhooks.create',
    answer: WebhookWithSecret,
    body: 'json',
    takes: 'NewWebhook',
    location: '/webhooks/',
    refusals: ['too_many_webhooks'],
    about: 'Create a webhook. Without `events` it gets all events that the credential can read',
    example: { url: 'https://hooks.example/punctual', events: ['post.published', 'post.failed'] },
  },
  { method: 'get', path: '/webhooks/:id', status: 200, does: 'webhooks.get', answer: Webhook, about: 'Read a webhook' },
  {
    method: 'patch',
    path: '/webhooks/:id',
    status: 200,
    does: 'webhooks.update',
    answer: Webhook,
    body: 'json',
    takes: 'WebhookChanges',
    about: 'Change a webhook, or switch it off and on. Fields that you leave out stay',
    example: { status: 'ACTIVE' },
  },
  {
    method: 'delete',
    path: '/webhooks/:id',
    status: 204,
    does: 'webhooks.remove',
    about: 'Delete a webhook and its log. Waiting events are not sent',
  },
  {
    method: 'post',
    path: '/webhooks/:id/rotate',
    status: 200,
    does: 'webhooks.rotate',
    answer: WebhookWithSecret,
    about: 'Create a new secret. For 24 hours each call is signed with both secrets',
  },
  {
    method: 'post',
    path: '/webhooks/:id/test',
    status: 201,
    does: 'webhooks.test',
    answer: WebhookDelivery,
    refusals: ['webhook_off'],
    about: 'Send a test event with the type webhook.test',
  },
  {
    method: 'get',
    path: '/webhooks/:id/deliveries',
    status: 200,
    does: 'webhooks.deliveries',
    query: true,
    answer: listOf(WebhookDelivery),
    about: 'List the events for a webhook and its responses, newest first. Kept for 30 days',
  },
  {
    method: 'post',
    path: '/webhooks/:id/deliveries/:deliveryId/resend',
    status: 200,
    does: 'webhooks.resend',
    answer: WebhookDelivery,
    refusals: ['webhook_off'],
    about: 'Send an event again with the same webhook-id',
  },
  {
    method: 'get',
    path: '/openapi.json',
    status: 200,
    does: null,
    about: 'Read this document. No credential required',
  },
]
