import type { Logger } from 'pino'
import type { NotClaimed } from '../ledger/claim.ts'

// What this worker does next: which channel to send for, or which uncertain delivery to look for. Wake-ups name them.
// Each named item waits here for its turn and is claimed together with others. After one piece of work it goes to the
// end of the line again, until nothing of it is due. Items that another worker works on wait in a second line, behind
// nearly everything else, so that workers with different channels do not block each other (docs/decisions/021).

const ClaimsAtOnce = 100 // in one statement
const SecondLineEvery = 40 // places: the other worker may have too much to do, or hang
// How long an item rests if it could not be claimed.
const RestMs: Record<Exclude<NotClaimed, 'nothing'>, number> = { locked: 10, elsewhere: 500, full: 100 }

/** An item that a worker works on: its id and its network. */
export type Waiting = { id: string; network: string }

type Turn = Waiting & { isWokenAgain: boolean }

type Line = Map<string, Map<string, Turn>> // by network, each in the order of arrival

type Work<C> = {
  concurrency: number
  /** An id that is missing from the result has nothing due. */
  claim: (ids: string[]) => Promise<Map<string, C | NotClaimed>>
  /** Never throws. */
  perform: (claimed: C) => Promise<void>
  log: Logger
}

/**
 * The items that a worker has been woken for, by id. At most `concurrency` are claimed and performed at once, and at
 * most half of these (rounded up) belong to one network. So a slow network does not delay the others.
 */
export class Dispatch<C extends object> {
  readonly #work: Work<C>
  readonly #waiting: Line = new Map()
  readonly #elsewhere: Line = new Map()
  readonly #busy = new Map<string, Turn>()
  readonly #resting = new Map<string, NodeJS.Timeout>()
  readonly #running = new Map<string, number>() // by network
  readonly #full = new Set<string>() // networks that rest
  #given = 0 // places that we have given so far
  #claiming: Promise<void> | null = null
  #closed = false

  constructor(work: Work<C>) {
    this.#work = work
  }

  /** Something of this item is due, or may be due. */
  wake(id: string, network: string): void {
    const busy = this.#busy.get(id)
    if (busy) busy.isWokenAgain = true
    else this.#enqueue({ id, network, isWokenAgain: false })
  }

  /** How many places are free. */
  places(): number {
    return this.#closed ? 0 : this.#work.concurrency - this.#busy.size
  }

  /**
   * Start as many of these as we have places for, and leave the rest to the worker that was woken for it. Returns how
   * many. We start none for a network that already has something waiting.
   */
  offer(due: Waiting[]): number {
    const room = new Map<string, number>()
    const places = this.places()
    let taken = 0
    for (const { id, network } of due) {
      const ofNetwork = room.get(network) ?? (this.#waiting.get(network)?.size ? 0 : this.#roomOn(network))
      if (taken === places || ofNetwork <= 0) continue
      taken++
      room.set(network, ofNetwork - 1)
      this.wake(id, network)
    }
    return taken
  }

  /** Claim nothing more. Resolves when no claim is running. Work on claimed items may still run. */
  async close(): Promise<void> {
    this.#closed = true
    for (const timer of this.#resting.values()) clearTimeout(timer)
    await this.#claiming
  }

  /** What others must be woken for when this worker has ended. */
  left(): string[] {
    const lines = [...this.#waiting.values(), ...this.#elsewhere.values()]
    const waiting = lines.flatMap((turns) => [...turns.keys()])
    return [...new Set([...waiting, ...this.#resting.keys(), ...this.#busy.keys()])]
  }

  #enqueue(turn: Turn, line = this.#waiting): void {
    clearTimeout(this.#resting.get(turn.id))
    this.#resting.delete(turn.id)
    this.#elsewhere.get(turn.network)?.delete(turn.id) // woken: it goes into the first line
    const ofNetwork = line.get(turn.network) ?? new Map<string, Turn>()
    if (!ofNetwork.has(turn.id)) ofNetwork.set(turn.id, { ...turn, isWokenAgain: false })
    line.set(turn.network, ofNetwork)
    this.#turn()
  }

  #turn(): void {
    this.#claiming ??= Promise.resolve().then(() => this.#claimAll()) // claims items together that are woken together
  }

  async #claimAll(): Promise<void> {
    for (let turns = this.#take(); turns.length > 0; turns = this.#take()) {
      const claims = await this.#claim(turns)
      for (const turn of turns) this.#receive(turn, claims.get(turn.id) ?? 'nothing')
    }
    this.#claiming = null
  }

  // Takes turns while there is room.
  #take(): Turn[] {
    const taken: Turn[] = []
    while (!this.#closed && taken.length < ClaimsAtOnce) {
      const isForSecond = (this.#given + 1) % SecondLineEvery === 0
      const turn =
        (isForSecond && this.#next(this.#elsewhere)) || this.#next(this.#waiting) || this.#next(this.#elsewhere)
      if (!turn) break
      this.#given++
      this.#busy.set(turn.id, turn)
      this.#running.set(turn.network, this.#runningOn(turn.network) + 1)
      taken.push(turn)
    }
    return taken
  }

  // The oldest turn of the network that has the fewest places. If several have, the one that has waited longest.
  #next(line: Line): Turn | undefined {
    const open = [...line].filter(([network, turns]) => turns.size > 0 && this.#hasRoom(network))
    const [fewest] = open.sort(([a], [b]) => this.#runningOn(a) - this.#runningOn(b))
    if (!fewest) return
    const [network, turns] = fewest
    const [turn] = turns.values()
    turns.delete(turn!.id)
    line.delete(network) // moves the network to the end
    line.set(network, turns)
    return turn
  }

  #runningOn(network: string): number {
    return this.#running.get(network) ?? 0
  }

  #hasRoom(network: string): boolean {
    return this.#busy.size < this.#work.concurrency && this.#roomOn(network) > 0
  }

  // Half, rounded up: jobs/ledger/claim.ts relies on it (mostAtOnce).
  #roomOn(network: string): number {
    return this.#full.has(network) ? 0 : Math.ceil(this.#work.concurrency / 2) - this.#runningOn(network)
  }

  async #claim(turns: Turn[]): Promise<Map<string, C | NotClaimed>> {
    try {
      return await this.#work.claim(turns.map(({ id }) => id))
    } catch (error) {
      this.#work.log.warn({ err: error }, 'could not claim anything: we try again')
      return new Map(turns.map(({ id }) => [id, 'full'])) // after a rest
    }
  }

  #receive(turn: Turn, claim: C | NotClaimed): void {
    if (typeof claim === 'object') {
      void this.#work.perform(claim).finally(() => {
        this.#leave(turn)
        this.#enqueue(turn)
      })
      return
    }
    this.#leave(turn)
    if (claim === 'full') this.#restNetwork(turn)
    else if (turn.isWokenAgain) this.#enqueue(turn)
    else if (claim !== 'nothing') this.#rest(turn, claim)
  }

  #leave(turn: Turn): void {
    this.#busy.delete(turn.id)
    this.#running.set(turn.network, this.#runningOn(turn.network) - 1)
  }

  // All items of the network wait in line, and none gets a place meanwhile.
  #restNetwork(turn: Turn): void {
    const { network } = turn
    if (!this.#full.has(network)) setTimeout(() => this.#full.delete(network) && this.#turn(), RestMs.full)
    this.#full.add(network)
    this.#enqueue(turn)
  }

  #rest(turn: Turn, why: 'locked' | 'elsewhere'): void {
    const line = why === 'elsewhere' ? this.#elsewhere : this.#waiting
    clearTimeout(this.#resting.get(turn.id))
    this.#resting.set(
      turn.id,
      setTimeout(() => this.#enqueue(turn, line), RestMs[why]),
    )
  }
}
