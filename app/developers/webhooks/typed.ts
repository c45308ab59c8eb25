import { CreateWebhook, UpdateWebhook } from '../../../server/webhooks/forms.ts'

// Schemas of the pages' own forms, for their actions. They are not in the routes' files, or browsers would load zod.

/** The API sends all events when none are named. In this form, choosing none is a mistake. */
export const NewWebhook = CreateWebhook.extend({ events: CreateWebhook.shape.events.unwrap() })

const { shape } = UpdateWebhook

/** In this form, choosing no event is a mistake, and an emptied description is saved as empty. */
export const ChangedWebhook = UpdateWebhook.extend({
  description: shape.description.unwrap().default(''),
  events: shape.events.unwrap(),
})
