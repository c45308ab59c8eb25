import type { Stuck as StuckDelivery } from '../../server/operations/operations.ts'
import { NetworkMark, networkName } from '../channels/channel-mark.tsx'
import { Instant } from '../shell/instant.tsx'
import { TabbedList } from '../ui/lists/tabbed-list.tsx'
import { stateWords } from './delivery-states.ts'
import { useOperations } from './operations.ts'
import { OrderForm } from './order-form.tsx'

const kinds = [
  { kind: 'overdue', name: 'Overdue', says: 'Due, not sent yet, and not waiting for a person.' },
  { kind: 'uncertain', name: 'Uncertain', says: 'Sent, and nobody knows whether it arrived: the network is asked.' },
  {
    kind: 'needs_review',
    name: 'Needs review',
    says: 'A person of the organisation must decide: it may be out, or it could not be sent in time.',
  },
  { kind: 'held', name: 'Held', says: 'A person of the organisation must connect the channel again.' },
  {
    kind: 'suspects',
    name: 'Suspects',
    says: 'A worker died at it. They are tried one at a time, three times at most.',
  },
] as const

/** Deliveries that do not go on, one kind at a time, with what an operator can do about each. */
export function Stuck() {
  const { counts, kind, list, isFirstPage } = useOperations()
  const { says } = kinds.find((one) => one.kind === kind)!
  return (
    <TabbedList
      id="stuck"
      title="What is stuck"
      tabs={kinds.map((one) => ({
        to: `/operations?stuck=${one.kind}`,
        name: one.kind === 'suspects' ? one.name : `${one.name} ${counts[one.kind].toLocaleString('en')}`,
        isCurrent: one.kind === kind,
      }))}
      lead={<p className="text-sm text-muted">{says}</p>}
      rows={list.data.map((delivery) => <StuckShown key={delivery.id} delivery={delivery} />)}
      none="None."
      paging={{
        ...{ path: '/operations', filters: { stuck: kind }, isFirstPage, nextCursor: list.nextCursor },
        names: { first: 'To the oldest', next: 'Later ones' },
      }}
    />
  )
}

function StuckShown({ delivery }: { delivery: StuckDelivery }) {
  const { id, state, dueAt, nextAttemptAt, attempts, crashes, error, organisation, channel } = delivery
  return (
    <div className="flex flex-wrap items-start justify-between gap-3">
      <div className="min-w-0 flex-1 basis-72">
        <p id={`stuck-${id}`} className="flex items-start gap-2 font-medium">
          <NetworkMark network={channel.network} className="mt-1 size-4 shrink-0 text-muted" />
          <span className="min-w-0 break-words">
            {channel.name} <span className="font-normal text-muted">of {organisation}</span>
          </span>
        </p>
        <p className="mt-0.5 text-sm text-muted">
          {stateWords[state]} · {networkName(channel.network)} · due <Instant at={dueAt} form="exact" />
          {attempts > 0 ? ` · ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}` : ''}
          {crashes > 0 ? ` · ${crashes === 1 ? '1 worker' : `${crashes} workers`} died` : ''}
          {nextAttemptAt ? (
            <>
              {' '}
              · next <Instant at={nextAttemptAt} form="exact" />
            </>
          ) : null}
          {channel.isPaused ? ' · its channel is paused' : ''}
          {channel.isSuspended ? ' · its organisation is suspended' : ''}
        </p>
        {error ? (
          <p className="mt-1 break-words text-sm">
            {error.message} <span className="text-muted">{error.nextStep}</span>
          </p>
        ) : null}
        <code className="mt-1 block break-all font-mono text-xs text-muted">{id}</code>
      </div>
      <Orders delivery={delivery} />
    </div>
  )
}

function Orders({ delivery: { id, state, isWakeable, channel } }: { delivery: StuckDelivery }) {
  const about = { describedBy: `stuck-${id}` }
  const ofChannel = { scope: 'channel', id: channel.id }
  return (
    <div className="flex flex-wrap gap-2">
      {state === 'failed' ? (
        <OrderForm intent="retry" fields={{ id }} {...about}>
          Retry
        </OrderForm>
      ) : null}
      {isWakeable ? (
        <OrderForm intent="wake" fields={{ id }} {...about}>
          Wake now
        </OrderForm>
      ) : null}
      <OrderForm intent={channel.isPaused ? 'resume' : 'pause'} fields={ofChannel} {...about}>
        {channel.isPaused ? 'Resume channel' : 'Pause channel'}
      </OrderForm>
    </div>
  )
}
