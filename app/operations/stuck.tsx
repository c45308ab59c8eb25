import type { Stuck as StuckDelivery } from '../../server/operations/operations.ts'
import { NetworkMark, networkName } from '../channels/channel-mark.tsx'
import { Instant } from '../shell/instant.tsx'
import { TabbedList } from '../ui/lists/tabbed-list.tsx'
import { ActionForm } from './action-form.tsx'
import { useOperations } from './operations.ts'
import { operationsStrings, stateStrings } from './strings.tsx'

const strings = operationsStrings.stuck
const kinds = ['overdue', 'uncertain', 'needs_review', 'held', 'suspects'] as const

/** Stuck deliveries, one kind at a time, with what an operator can do about each. */
export function Stuck() {
  const { counts, kind, list, isFirstPage } = useOperations()
  return (
    <TabbedList
      id="stuck"
      title={strings.title}
      tabs={kinds.map((one) => ({
        to: `/operations?stuck=${one}`,
        name: one === 'suspects' ? strings.kinds[one].name : strings.tab(strings.kinds[one].name, counts[one]),
        isCurrent: one === kind,
      }))}
      lead={<p className="text-sm text-muted">{strings.kinds[kind].text}</p>}
      rows={list.data.map((delivery) => <StuckShown key={delivery.id} delivery={delivery} />)}
      none={strings.none}
      paging={{
        path: '/operations',
        filters: { stuck: kind },
        isFirstPage,
        nextCursor: list.nextCursor,
        names: { first: strings.firstPage, next: strings.nextPage },
      }}
    />
  )
}

function StuckShown({ delivery }: { delivery: StuckDelivery }) {
  const { id, error, organisation, channel } = delivery
  return (
    <div className="flex flex-wrap items-start justify-between gap-3">
      <div className="min-w-0 flex-1 basis-72">
        <p id={`stuck-${id}`} className="flex items-start gap-2 font-medium">
          <NetworkMark network={channel.network} className="mt-1 size-4 shrink-0 text-muted" />
          <span className="min-w-0 break-words">
            {channel.name}{' '}
            <span className="font-normal text-muted">{operationsStrings.ofOrganisation(organisation)}</span>
          </span>
        </p>
        <Facts delivery={delivery} />
        {error ? (
          <p className="mt-1 break-words text-sm">
            {error.message} <span className="text-muted">{error.nextStep}</span>
          </p>
        ) : null}
        <code className="mt-1 block break-all font-mono text-xs text-muted">{id}</code>
      </div>
      <Actions delivery={delivery} />
    </div>
  )
}

function Facts({ delivery }: { delivery: StuckDelivery }) {
  const { state, dueAt, nextAttemptAt, attempts, crashes, channel } = delivery
  return (
    <p className="mt-0.5 text-sm text-muted">
      {stateStrings[state]} · {networkName(channel.network)} · {strings.dueAt(<Instant at={dueAt} form="exact" />)}
      {attempts > 0 ? ` · ${strings.attempts(attempts)}` : ''}
      {crashes > 0 ? ` · ${strings.crashes(crashes)}` : ''}
      {nextAttemptAt ? (
        <>
          {' · '}
          {strings.nextAttempt(<Instant at={nextAttemptAt} form="exact" />)}
        </>
      ) : null}
      {channel.isPaused ? ` · ${strings.channelIsPaused}` : ''}
      {channel.isSuspended ? ` · ${strings.organisationIsSuspended}` : ''}
    </p>
  )
}

function Actions({ delivery: { id, state, isWakeable, channel } }: { delivery: StuckDelivery }) {
  const about = { describedBy: `stuck-${id}` }
  const ofChannel = { scope: 'channel', id: channel.id }
  return (
    <div className="flex flex-wrap gap-2">
      {state === 'failed' ? (
        <ActionForm intent="retry" fields={{ id }} {...about}>
          {strings.retry}
        </ActionForm>
      ) : null}
      {isWakeable ? (
        <ActionForm intent="wake" fields={{ id }} {...about}>
          {strings.wake}
        </ActionForm>
      ) : null}
      <ActionForm intent={channel.isPaused ? 'resume' : 'pause'} fields={ofChannel} {...about}>
        {channel.isPaused ? strings.resumeChannel : strings.pauseChannel}
      </ActionForm>
    </div>
  )
}
