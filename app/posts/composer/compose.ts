import { json, redirect } from '@remix-run/node'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import type { Api } from '../../../server/router.ts'
import { type Problem, problemOf } from '../../api.ts'
import { clockAt, instantOf } from '../../ui/time-zone.ts'

/** What a person typed into the composer, as its form carries it. */
export type Typed = {
  content: string
  channelIds: string[]
  mediaIds: string[]
  alts: Record<string, string> // by media id
  date: string // yyyy-mm-dd, or empty
  time: string // hh:mm, or empty
}

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
      const made = await api.posts.create(wanted(intent, typed, zone) as Parameters<Api['posts']['create']>[0])
      return redirect(`/posts/${made.id}?said=${intent}`)
    }
    await api.posts.update(change(intent, typed, zone, post, form))
    return redirect(`/posts/${post.id}?said=${intent}`)
  } catch (error) {
    const problem = problemOf(error)
    const answer: Composed = { intent: 'compose', typed, problems: besideParts(typed, problem) }
    return json(answer, problem.status)
  }
}

const MoreThanAnyList = 51 // the procedure refuses what is too long

function typedIn(form: FormData): Typed {
  const text = (name: string) => String(form.get(name) ?? '').replaceAll('\r\n', '\n') // forms send CRLF
  const all = (name: string) => form.getAll(name).slice(0, MoreThanAnyList).map(String)
  const mediaIds = all('mediaIds')
  const alts = Object.fromEntries(mediaIds.map((id) => [id, text(`alt.${id}`)]))
  return {
    content: text('content'),
    channelIds: all('channelIds'),
    mediaIds,
    alts,
    date: text('date'),
    time: text('time'),
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

function partOf(path: string, typed: Typed): string {
  const [, list, index] = path.match(/^(channelIds|mediaIds)\[(\d+)\]$/) ?? []
  if (list === 'channelIds' || list === 'mediaIds') return typed[list][Number(index)] ?? list
  if (path === 'date' && typed.date && !typed.time) return 'time'
  return ['content', 'channelIds', 'mediaIds', 'date'].includes(path) ? path : ''
}
