import { json, redirect } from '@remix-run/node'
import { v7 as uuidv7 } from 'uuid'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { instantOf } from '../../../jobs/wall-clock.ts'
import type { Api } from '../../../server/router.ts'
import { type Problem, problemOf } from '../../api.ts'
import { clockAt } from '../../ui/time-zone.ts'
import { type Typed, typedIn } from './typed.ts'

/** What the composer shows after a refusal: the form again with its problems, by the name of the field that each belongs to. */
export type Composed = { intent: 'compose'; problems: Record<string, string[]>; typed: Typed }

/** The buttons of the composer. */
export const composerIntents = ['schedule', 'now', 'draft', 'save']

/** Create a post from the composer's form, or change `post`. The form's `intent` is the button that was pressed. */
export async function compose(api: Api, form: FormData, zone: string, post: Post | null) {
  const intent = String(form.get('intent'))
  const typed = typedIn(form)
  try {
    for (const [id, alt] of Object.entries(typed.alts)) await api.media.update({ id, alt })
    if (!post) {
      const created = wanted(intent, typed, zone) as Parameters<Api['posts']['create']>[0]
      const made = await api.workingCopies.create({ id: String(form.get('copy') ?? uuidv7()), post: created })
      return redirect(`/posts/${made.id}?said=${intent}`)
    }
    await api.workingCopies.update(change(intent, typed, zone, post, form))
    return redirect(`/posts/${post.id}?said=${intent}`)
  } catch (error) {
    const problem = problemOf(error)
    const answer: Composed = { intent: 'compose', typed, problems: besideParts(typed, problem) }
    return json(answer, problem.status)
  }
}

/** The body of POST /posts. A missing value is left out, and the procedure reports it. */
function wanted(intent: string, typed: Typed, zone: string) {
  const { content, channelIds, mediaIds } = typed
  const date = instantOf(typed.date, typed.time, zone)?.toISOString()
  return { type: intent, content, channelIds, mediaIds, ...(intent === 'now' || !date ? {} : { date }) }
}

function change(
  intent: string,
  typed: Typed,
  zone: string,
  post: Post,
  form: FormData,
): Parameters<Api['posts']['update']>[0] {
  const { type: _, date, ...parts } = wanted(intent, typed, zone)
  const type = intent === 'save' ? {} : { type: intent as Post['type'] }
  const before = post.date ? clockAt(post.date, zone) : { date: '', time: '' }
  // The fields have no seconds: a date that was not touched stays what it is.
  const isTouched = before.date !== typed.date || before.time !== typed.time
  const when = isTouched && intent !== 'now' ? { date: date ?? null } : {}
  return { id: post.id, ...parts, ...type, ...when, ifVersions: [Number(form.get('version'))] }
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
  const path = where.replace(/^post\./, '') // of workingCopies.create
  const [, list, index] = path.match(/^(channelIds|mediaIds)\[(\d+)\]$/) ?? []
  if (list === 'channelIds' || list === 'mediaIds') return typed[list][Number(index)] ?? list
  if (path === 'date' && typed.date && !typed.time) return 'time'
  return ['content', 'channelIds', 'mediaIds', 'date'].includes(path) ? path : ''
}
