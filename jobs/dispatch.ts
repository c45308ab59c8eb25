import type { Logger } from 'pino'
import type { Claim } from './claim.ts'
import type { Claimed } from './ledger.ts'

// Which channel this worker turns to next. Wake-ups name channels; each that is named waits here for its turn, is claimed
// together with others, and takes its place at the end again after one delivery, until nothing of it is due.

const ClaimsAtOnce = 100 // channels in one statement
// How long a channel rests that could not be claimed: somebody changes something of it, which is soon over; another
// worker is at it, or all places under its network's cap are taken.
const RestMs = { locked: 10, elsewhere: 100, full: 100 }

type Channel = { id: string; network: string; isWokenAgain: boolean }

type Work = {
  concurrency: number
  /** Answers for each channel that it is given. */
  claim: (channelIds: string[]) => Promise<Map<string, Claim>>
  /** Never throws. */
  deliver: (claimed: Claimed) => Promise<void>
  log: Logger
}

/** The channels that a worker has been woken for: at most `concurrency` of them are claimed and delivered at once, at most half of these of one network. */
export class Dispatch {
  readonly #work: Work
  readonly #waiting = new Map<string, Map<string, Channel>>() // by network, each in the order in which they came
  readonly #busy = new Map<string, Channel>()
  readonly #resting = new Map<string, NodeJS.Timeout>()
  readonly #running = new Map<string, number>() // by network
  #claiming: Promise<void> | null = null
  #closed = false

  constructor(work: Work) {
    this.#work = work
  }

  /** How many deliveries are being claimed or sent. */
  get underWay(): number {
    return this.#busy.size
  }

  /** A delivery of the channel is due, or may be. */
  wake(channelId: string, network: string): void {
    const busy = this.#busy.get(channelId)
    if (busy) busy.isWokenAgain = true
    else this.#enqueue({ id: channelId, network, isWokenAgain: false })
  }

  /** Claim nothing more. Resolves when no claim is under way; what is being delivered may be. */
  async close(): Promise<void> {
    this.#closed = true
    for (const timer of this.#resting.values()) clearTimeout(timer)
    await this.#claiming
  }

  /** The channels that others must be woken for when this worker has ended. */
  left(): string[] {
    const waiting = [...this.#waiting.values()].flatMap((channels) => [...channels.keys()])
    return [...new Set([...waiting, ...this.#resting.keys(), ...this.#busy.keys()])]
  }

  #enqueue(channel: Channel): void {
    clearTimeout(this.#resting.get(channel.id))
    this.#resting.delete(channel.id)
    const ofNetwork = this.#waiting.get(channel.network) ?? new Map<string, Channel>()
    if (!ofNetwork.has(channel.id)) ofNetwork.set(channel.id, { ...channel, isWokenAgain: false })
    this.#waiting.set(channel.network, ofNetwork)
    this.#claiming ??= Promise.resolve().then(() => this.#claimAll()) // what is woken in one go is claimed in one
  }

  async #claimAll(): Promise<void> {
    for (let channels = this.#take(); channels.length > 0; channels = this.#take()) {
      const claims = await this.#claim(channels)
      for (const channel of channels) this.#receive(channel, claims.get(channel.id) ?? 'nothing')
    }
    this.#claiming = null
  }

  // Networks take turns, each with its oldest channel, as long as there is room.
  #take(): Channel[] {
    const taken: Channel[] = []
    for (let found = !this.#closed; found && taken.length < ClaimsAtOnce; ) {
      found = false
      for (const [network, channels] of this.#waiting) {
        const [channel] = channels.values()
        if (!channel || !this.#hasRoom(network)) continue
        channels.delete(channel.id)
        this.#busy.set(channel.id, channel)
        this.#running.set(network, (this.#running.get(network) ?? 0) + 1)
        taken.push(channel)
        found = true
      }
    }
    return taken
  }

  #hasRoom(network: string): boolean {
    const { concurrency } = this.#work
    return this.#busy.size < concurrency && (this.#running.get(network) ?? 0) < Math.ceil(concurrency / 2)
  }

  async #claim(channels: Channel[]): Promise<Map<string, Claim>> {
    try {
      return await this.#work.claim(channels.map(({ id }) => id))
    } catch (error) {
      this.#work.log.warn({ err: error }, 'nothing could be claimed; it is tried again')
      return new Map(channels.map(({ id }) => [id, 'full'])) // after a rest
    }
  }

  #receive(channel: Channel, claim: Claim): void {
    if (typeof claim === 'object') {
      void this.#work.deliver(claim).finally(() => {
        this.#leave(channel)
        this.#enqueue(channel)
      })
      return
    }
    this.#leave(channel)
    if (claim === 'again' || channel.isWokenAgain) this.#enqueue(channel)
    else if (claim !== 'nothing') this.#rest(channel, RestMs[claim])
  }

  #leave(channel: Channel): void {
    this.#busy.delete(channel.id)
    this.#running.set(channel.network, this.#running.get(channel.network)! - 1)
  }

  #rest(channel: Channel, ms: number): void {
    clearTimeout(this.#resting.get(channel.id))
    this.#resting.set(
      channel.id,
      setTimeout(() => this.#enqueue(channel), ms),
    )
  }
}
