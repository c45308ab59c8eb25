import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useActionData, useLoaderData, useLocation } from '@remix-run/react'
import type { z } from 'zod'
import { ById } from '../../server/forms.ts'
import { ListStuck, Reach } from '../../server/operations/forms.ts'
import type { Resumed } from '../../server/operations/pauses.ts'
import type { Api } from '../../server/router.ts'
import { type Answer, answer, formOf, shown } from '../api.ts'
import { ConfirmPause } from '../operations/confirm-pause.tsx'
import { Lateness } from '../operations/lateness.tsx'
import { Networks, PausedChannels } from '../operations/networks.tsx'
import { Sending } from '../operations/sending.tsx'
import { operationsStrings, stateStrings } from '../operations/strings.tsx'
import { Stuck } from '../operations/stuck.tsx'
import { SuspendedOrganisations } from '../operations/suspended-organisations.tsx'
import { Workers } from '../operations/workers.tsx'
import { Alert } from '../ui/alert.tsx'
import { useRereading } from '../ui/live.ts'
import { Notice } from '../ui/notice.tsx'
import { Card, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: operationsStrings.pageTitle }]

const PageLimit = 20
const EveryMs = 10_000

export async function loader(args: LoaderFunctionArgs) {
  const operations = await operationsOf(args)
  const { stuck, cursor, said, pause, ...reach } = Object.fromEntries(new URL(args.request.url).searchParams)
  const asked = Reach.safeParse({
    scope: pause,
    ...(pause === 'network' ? { name: reach.name } : {}),
    ...(pause === 'channel' ? { id: reach.id } : {}),
  })
  const kind = ListStuck.shape.kind.catch('overdue').parse(stuck)
  const [overview, list] = await Promise.all([
    shown(operations.overview()),
    shown(operations.stuck({ kind, limit: PageLimit, ...(cursor ? { cursor } : {}) })),
  ])
  const isFirstPage = !cursor
  return json({
    ...overview,
    now: new Date().toISOString(),
    kind,
    list,
    isFirstPage,
    said: saids[said ?? ''] ?? null,
    pausing: asked.success ? asked.data : null,
  })
}

const saids: Record<string, string> = operationsStrings.done

export async function action(args: ActionFunctionArgs) {
  const operations = await operationsOf(args)
  const form = formOf(args.context)
  const intent = form.get('intent')
  const { searchParams } = new URL(args.request.url)
  const done = (said: string) => {
    for (const name of ['pause', 'name', 'id']) searchParams.delete(name)
    searchParams.set('said', said)
    return redirect(`/operations?${searchParams}`)
  }
  const isConfirmed = form.has('confirmed')
  form.delete('confirmed')
  if (intent === 'pause')
    return answer(form, Reach, async ({ scope, ...reach }) => {
      if (!isConfirmed) return redirect(`/operations?${asking(searchParams, { pause: scope, ...reach })}`)
      await operations.pause({ scope, ...reach } as z.output<typeof Reach>)
      return done(intent)
    })
  if (intent === 'resume') return answer(form, Reach, async (reach) => done(saidOf(await operations.resume(reach))))
  if (intent === 'retry' || intent === 'wake')
    return answer(form, ById, async (delivery) => {
      await operations[intent](delivery)
      return done(intent)
    })
  throw json({ detail: operationsStrings.unknownForm }, 400)
}

// The page asks first, with the list that it showed.
function asking(page: URLSearchParams, question: Record<string, string>): URLSearchParams {
  page.delete('said')
  return new URLSearchParams({ ...Object.fromEntries(page), ...question })
}

function saidOf({ resumed, within, stillPaused: { networks, channels, organisations } }: Resumed): string {
  if (within) return `resume_in_${within}`
  const isInPart = networks.length > 0 || channels > 0 || organisations > 0
  return resumed.scope === 'all' && isInPart ? 'resume_in_part' : 'resume'
}

/** To people who are not operators, this page does not exist. */
async function operationsOf({ context: { api, member } }: LoaderFunctionArgs): Promise<Api['operations']> {
  if (!member || !(await api.account.show()).isOperator) throw json(null, { status: 404 })
  return api.operations
}

export default function Operations() {
  const { said, pausing } = useLoaderData<typeof loader>()
  const { key } = useLocation() // announces the same sentence again after the next press
  useRereading(always, EveryMs)
  return (
    <>
      <PageHead title={operationsStrings.title} lead={operationsStrings.lead} />
      {said ? <Notice key={key}>{said}</Notice> : null}
      {pausing ? <ConfirmPause reach={pausing} /> : null}
      <Problem />
      <div className="space-y-6">
        <Sending />
        <Workers />
        <Lateness />
        <Stuck />
        <Networks />
        <PausedChannels />
        <SuspendedOrganisations />
        <States />
      </div>
    </>
  )
}

const always = () => true

function Problem() {
  const { result } = (useActionData() ?? {}) as Partial<Answer>
  const problems = Object.values(result?.error ?? {}).flatMap((errors) => errors ?? [])
  if (problems.length === 0) return null
  return <Alert className="mb-5">{problems.join(' ')}</Alert>
}

const shownStates = ['claimed', 'sending', 'uncertain', 'held', 'needs_review'] as const

function States() {
  const { counts } = useLoaderData<typeof loader>()
  return (
    <Card title={operationsStrings.states.title}>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 text-sm sm:grid-cols-5">
        {shownStates.map((state) => (
          <div key={state}>
            <dt className="text-muted">{stateStrings[state]}</dt>
            <dd className="text-lg font-semibold tabular-nums">{counts[state].toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
