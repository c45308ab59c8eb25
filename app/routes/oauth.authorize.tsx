import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useActionData, useLoaderData } from '@remix-run/react'
import type { Api } from '../../server/router.ts'
import { formOf, type LoadContext, type Problem, problemOf, searchFor, shown } from '../api.ts'
import type { Handle } from '../root.tsx'
import { ConsentForm } from '../ui/consent.tsx'
import { Doorway } from '../ui/doorway.tsx'

export const handle: Handle = { bare: true }

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: `${data?.consent ? `${data.consent.app.name} wants access` : 'This request is refused'} · Punctual` },
]

/** What a person had chosen, and what was wrong with it. Without a problem they only look at another organisation. */
export type Chosen = { organisationId: string; reach: string; channelIds: string[]; problem?: Problem }

export async function loader({ context }: LoaderFunctionArgs) {
  const begun = await shown(context.api.authorize.begin({ query: context.query }))
  if (begun.kind === 'redirect') throw sentTo(begun.url, 302)
  if (begun.kind === 'sign_in') throw toSignIn(context)
  if (begun.kind === 'refused') return json({ consent: null, refusal: begun.message }, 400)
  const { member } = context
  return json({ consent: begun.consent, refusal: null, person: `${member!.name} (${member!.email})` })
}

export async function action({ request, context }: ActionFunctionArgs) {
  if (!context.member) throw toSignIn(context)
  const form = await formOf(request)
  const chosen = choiceIn(form)
  if (form.get('decision') === 'look') return json(chosen)
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
  return redirect(`/login${searchFor(`/oauth/authorize?${query}`)}`)
}

function choiceIn(form: FormData): Chosen {
  return {
    organisationId: String(form.get('organisationId') ?? ''),
    reach: String(form.get('reach') ?? 'all'),
    channelIds: form.getAll('channelIds').map(String),
  }
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
  if (chosen?.problem?.status === 409) return <Over title="This page is over" message={chosen.problem.detail} />
  if (!data.consent) return <Over title="This request is refused" message={data.refusal} />
  return <ConsentForm consent={data.consent} person={data.person} chosen={chosen} />
}

function Over({ title, message }: { title: string; message: string }) {
  return (
    <Doorway title={title} foot={null}>
      <p>{message}</p>
      <p className="mt-3 text-sm text-muted">Nothing was sent to the app, and nothing is changed here.</p>
    </Doorway>
  )
}
