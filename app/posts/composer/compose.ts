import { json, redirect } from '@remix-run/node'
import { v7 as uuidv7 } from 'uuid'
import type { Override, Post } from '../../../jobs/ledger/post-view.ts'
import { instantOf } from '../../../jobs/wall-clock.ts'
import type { Api } from '../../../server/router.ts'
import { type Problem, problemOf } from '../../api.ts'
import { clockAt } from '../../ui/time/time-zone.ts'
import { asHeld, ownMediaName, ownTextName, type Typed, typedIn, type Wall, wallIn } from './typed.ts'

/**
 * What the composer shows after a refusal: the form again with its problems, by the name of the field that each belongs to.
 * `checked`: the sentences that the composer's own check says too (jobs/networks/check.ts), as long as they are true.
 */
export type Composed = { intent: 'compose'; problems: Record<string, string[]>; checked: string[]; typed: Typed }

const checkedCodes = ['content_too_long', 'media_not_supported', 'video_too_long', 'content_empty']

/** The buttons of the composer. */
export const composerIntents = ['schedule', 'queue', 'now', 'draft', 'save']

/** Create a post from the composer's form, or change `post`. The form's `intent` is the button that was pressed. */
export async function compose(api: Api, form: FormData, zone: string, post: Post | null) {
  const intent = String(form.get('intent'))
  const typed = typedIn(form)
  // A draft gets no date that is only suggested. What goes out gets the one that the page shows.
  const wall = intent === 'draft' ? typed : wallIn(form)
  try {
    const { alts } = typed
    if (!post) {
      const created = { ...wanted(intent, typed, wall, zone), ...queueIn(form) } as Parameters<
        Api['posts']['create']
      >[0]
      const made = await api.workingCopies.create({ id: String(form.get('copy') ?? uuidv7()), post: created, alts })
      return redirect(`/posts/${made.id}?said=${intent}`)
    }
    await api.workingCopies.update({ change: change({ intent, typed, wall, zone, post, form }), alts })
    return redirect(`/posts/${post.id}?said=${intent}`)
  } catch (error) {
    const problem = problemOf(error)
    const checked = problem.errors.filter(({ code }) => checkedCodes.includes(code)).map(({ message }) => message)
    const answer: Composed = { intent: 'compose', typed, checked, problems: besideParts(typed, problem) }
    return json(answer, problem.status)
  }
}

// `before`, if `now` differs from it in line breaks only.
function heldOrNew(before: string | undefined, now: string): string {
  return before !== undefined && asHeld(before) === asHeld(now) ? before : now
}

/** The body of POST /posts. A missing value is left out, and the procedure reports it. */
function wanted(intent: string, typed: Typed, wall: Wall, zone: string) {
  const { content, channelIds, mediaIds } = typed
  const [overrides, tags] = [sentOverrides(typed), tagsIn(typed)]
  const date = instantOf(wall.date, wall.time, zone)?.toISOString()
  const when = takesNoDate(intent) || !date ? {} : { date }
  return { type: intent, content, channelIds, mediaIds, overrides, tags, ...when }
}

function tagsIn({ tags }: Typed): string[] {
  return [...new Set(tags.split(',').map((tag) => tag.trim().normalize()))].filter(Boolean)
}

// The form keeps the text and media of a deselected channel. The post does not get them.
function sentOverrides({ channelIds, overrides }: Typed): Override[] {
  return overrides.filter(({ channelId }) => channelIds.includes(channelId))
}

function takesNoDate(intent: string): boolean {
  return intent === 'now' || intent === 'queue'
}

function queueIn(form: FormData): { queueId?: string } {
  return form.get('intent') === 'queue' && form.has('queueId') ? { queueId: String(form.get('queueId')) } : {}
}

type Asked = { intent: string; typed: Typed; wall: Wall; zone: string; post: Post; form: FormData }

function change({ intent, typed, wall, zone, post, form }: Asked): Parameters<Api['posts']['update']>[0] {
  const { type: _, date, ...parts } = wanted(intent, withLinesOf(post, typed), wall, zone)
  const type = intent === 'save' ? {} : { type: intent as Post['type'] | 'queue' }
  const before = post.date ? clockAt(post.date, zone) : { date: '', time: '' }
  // The fields have no seconds: a date that was not touched stays what it is.
  const isTouched = before.date !== wall.date || before.time !== wall.time
  const when = isTouched && !takesNoDate(intent) ? { date: date ?? null } : {}
  return { id: post.id, ...parts, ...type, ...queueIn(form), ...when, ifVersions: [Number(form.get('version'))] }
}

// Lines end as they did in the post.
function withLinesOf(post: Post, typed: Typed): Typed {
  const before = (id: string) => post.overrides.find(({ channelId }) => channelId === id)?.content
  return {
    ...typed,
    content: heldOrNew(post.content, typed.content),
    overrides: typed.overrides.map((override) =>
      override.content === undefined
        ? override
        : { ...override, content: heldOrNew(before(override.channelId), override.content) },
    ),
  }
}

function besideParts(typed: Typed, { detail, errors }: Problem): Record<string, string[]> {
  const problems: Record<string, string[]> = {}
  for (const { path, message } of errors.length > 0 ? errors : [{ path: '', message: detail }]) {
    const part = partOf(path, typed)
    problems[part] = [...new Set([...(problems[part] ?? []), message])]
  }
  return problems
}

function partOf(where: string, typed: Typed): string {
  const path = where.replace(/^(post|change)\./, '') // of workingCopies.create and update
  const [, list, index] = path.match(/^(channelIds|mediaIds)\[(\d+)\]$/) ?? []
  if (list === 'channelIds' || list === 'mediaIds') return typed[list][Number(index)] ?? list
  const [, own, part] = path.match(/^overrides\[(\d+)\]\.(content|mediaIds)/) ?? []
  const { channelId } = sentOverrides(typed)[Number(own)] ?? {}
  if (channelId) return part === 'content' ? ownTextName(channelId) : ownMediaName(channelId)
  if (path === 'date' && typed.date && !typed.time) return 'time'
  if (path.startsWith('tags')) return 'tags'
  return ['content', 'channelIds', 'mediaIds', 'date'].includes(path) ? path : ''
}
