import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Link, useActionData, useLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'
import { formOf, type LoadContext, type Problem, problemOf, searchFor, shown } from '../api.ts'
import { ConsentForm } from '../developers/apps/consent.tsx'
import type { Chosen } from '../developers/apps/consent-choices.tsx'
import { Doorway } from '../shell/auth-layout.tsx'
import type { Handle } from '../shell/shell.tsx'

export const handle: Handle = { bare: true }

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: `${data?.consent ? `${data.consent.app.name} wants access` : 'This request is refused'} · Punctual` },
]

// An address of this length and the headers beside it still fit into the 16 KB that Node.js reads of a request's head.
const SearchLength = 8000

export async function loader({ request, context }: LoaderFunctionArgs) {
  const isOnlyLook = request.method === 'HEAD'
  const begun = await shown(context.api.authorize.begin({ query: context.query, isOnlyLook }))
  if (begun.kind === 'redirect') throw sentTo(begun.url, 302)
  if (begun.kind === 'sign_in') throw toSignIn(context)
  if (begun.kind === 'refused') return json({ consent: null, refusal: begun.message }, 400)
  const { member } = context
  return json({ consent: begun.consent, refusal: null, person: `${member!.name} (${member!.email})` })
}

export async function action({ context }: ActionFunctionArgs) {
  if (!context.member) throw toSignIn(context)
  const form = formOf(context)
  const chosen = choiceIn(form)
  if (form.get('decision') === 'leave') throw await leave(context)
  if (form.get('decision') === 'look') return json(chosen)
  if (form.get('decision') === 'approve' && !['all', 'some'].includes(chosen.reach))
    return json({ ...chosen, problem: noReach }, noReach.status)
  try {
    const { url } = await context.api.authorize.decide(wanted(form, chosen))
    return sentTo(url, 303)
  } catch (error) {
    const problem = problemOf(error)
    return json({ ...chosen, problem }, problem.status)
  }
}

// Remix's own redirect writes the address anew; an app gets its state back byte for byte.
function sentTo(url: string, status: number): Response {
  return new Response(null, { status, headers: { Location: url } })
}

function toSignIn({ query }: LoadContext): Response {
  const search = searchFor(`/oauth/authorize?${query}`)
  if (search.length <= SearchLength) return redirect(`/login${search}`)
  const detail = 'This request is too long to be kept while you sign in. Sign in first, then begin again from the app.'
  return json({ detail }, 400)
}

function choiceIn(form: FormData): Chosen {
  return {
    organisationId: String(form.get('organisationId') ?? ''),
    reach: String(form.get('reach') ?? ''),
    channelIds: form.getAll('channelIds').map(String),
  }
}

async function leave(context: LoadContext): Promise<Response> {
  await context.api.account.signOut()
  const onward = toSignIn(context)
  onward.headers.set('Set-Cookie', context.session.end())
  return onward
}

// Nothing is let in on everything because a choice was lost on the way.
const noReach: Problem = {
  status: 400,
  detail: 'Say which channels it may use.',
  errors: [{ path: 'channelIds', code: 'required', message: 'Say which channels it may use.' }],
  headers: {},
}

function wanted(
  form: FormData,
  { organisationId, reach, channelIds }: Chosen,
): Parameters<Api['authorize']['decide']>[0] {
  return {
    request: String(form.get('request') ?? ''),
    decision: form.get('decision') as 'approve' | 'deny', // anything else is refused
    ...(organisationId ? { organisationId } : {}),
    ...(reach === 'some' ? { channelIds } : {}),
  }
}

export default function Authorize() {
  const data = useLoaderData<typeof loader>()
  const chosen = useActionData<typeof action>() as Chosen | undefined
  // A request that is over is not put to the person anew: its app may have gone on without it.
  if (chosen?.problem?.status === 409) return <Expired message={chosen.problem.detail} />
  if (!data.consent) return <Refused message={data.refusal} />
  return <ConsentForm consent={data.consent} person={data.person} chosen={chosen} />
}

function Expired({ message }: { message: string }) {
  return (
    <Doorway title="This page has expired" foot={<Link to="/settings/approved-apps">What is let in</Link>}>
      <p>{message}</p>
    </Doorway>
  )
}

function Refused({ message }: { message: string }) {
  return (
    <Doorway title="This request is refused" foot="Nothing was sent to the app, and nothing is changed here.">
      <p>The link that brought you here has a mistake that only the app’s maker can mend. Tell them:</p>
      <p className="mt-3 break-words rounded-lg bg-sunken px-3.5 py-2.5 text-sm">{message}</p>
    </Doorway>
  )
}
