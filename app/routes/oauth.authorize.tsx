import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Link, useActionData, useLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'
import { formOf, type LoadContext, type Problem, problemOf, searchFor, shown } from '../api.ts'
import { ConsentForm } from '../developers/apps/consent.tsx'
import type { Chosen } from '../developers/apps/consent-choices.tsx'
import { consentStrings } from '../developers/apps/strings.tsx'
import { AuthLayout } from '../shell/auth-layout.tsx'
import type { Handle } from '../shell/shell.tsx'

export const handle: Handle = { bare: true }

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: data?.consent ? consentStrings.pageTitle(data.consent.app.name) : consentStrings.refused.pageTitle },
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

// Remix's own redirect rewrites the address. An app must get its state back byte for byte.
function sentTo(url: string, status: number): Response {
  return new Response(null, { status, headers: { Location: url } })
}

function toSignIn({ query }: LoadContext): Response {
  const search = searchFor(`/oauth/authorize?${query}`)
  if (search.length <= SearchLength) return redirect(`/login${search}`)
  return json({ detail: consentStrings.tooLong }, 400)
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

// A lost choice must not approve all channels.
const noReach: Problem = {
  status: 400,
  detail: consentStrings.channelsMissing,
  errors: [{ path: 'channelIds', code: 'required', message: consentStrings.channelsMissing }],
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
  // A decided request is not asked again: its app may have moved on.
  if (chosen?.problem?.status === 409) return <Expired message={chosen.problem.detail} />
  if (!data.consent) return <Refused message={data.refusal} />
  return <ConsentForm consent={data.consent} person={data.person} chosen={chosen} />
}

function Expired({ message }: { message: string }) {
  const { title, approvedApps } = consentStrings.expired
  return (
    <AuthLayout title={title} foot={<Link to="/settings/approved-apps">{approvedApps}</Link>}>
      <p>{message}</p>
    </AuthLayout>
  )
}

function Refused({ message }: { message: string }) {
  const { title, text, foot } = consentStrings.refused
  return (
    <AuthLayout title={title} foot={foot}>
      <p>{text}</p>
      <p className="mt-3 break-words rounded-lg bg-sunken px-3.5 py-2.5 text-sm">{message}</p>
    </AuthLayout>
  )
}
