import type { Logger } from 'pino'
import type { NotClaimed } from '../ledger/claim.ts'

// What this worker turns to next: which channel's delivery to send, which uncertain one to look for. Wake-ups name them;
// each that is named waits here for its turn, is claimed together with others, and takes its place at the end again
// after one piece of work, until nothing of it is due. What another worker proved to be at waits in a second line, behind
// nearly everything else: workers that go down channels of their own are not in one another's way (docs/decisions/021).

const ClaimsAtOnce = 100 // in one statement
const SecondLineEvery = 40 // places: that worker may have more than it can do, or stand still
// How long something rests that could not be claimed.
const RestMs: Record<Exclude<NotClaimed, 'nothing'>, number> = { locked: 10, elsewhere: 500, full: 100 }

/** What a worker turns to: by its id, on a network. */
export type Waiting = { id: string; network: string }

type Turn = Waiting & { isWokenAgain: boolean }

type Line = Map<string, Map<string, Turn>> // by network, each in the order in which they came

type Work<C> = {
  concurrency: number
  /** What it answers nothing of has nothing due. */
  claim: (ids: string[]) => Promise<Map<string, C | NotClaimed>>
  /** Never throws. */
  perform: (claimed: C) => Promise<void>
  log: Logger
}

/**
 * What a worker has been woken for, by id: at most `concurrency` are claimed and performed at once, at most half of these
 * (rounded up) of one network, so that a slow one delays nobody else.
 */
export class Dispatch<C extends object> {
  readonly #work: Work<C>
  readonly #waiting: Line = new Map()
  readonly #elsewhere: Line = new Map()
  readonly #busy = new Map<string, Turn>()
  readonly #resting = new Map<string, NodeJS.Timeout>()
  readonly #running = new Map<string, number>() // by network
  readonly #full = new Set<string>() // networks that rest
  #given = 0 // places, so far
  #claiming: Promise<void> | null = null
  #closed = false

  constructor(work: Work<C>) {
    this.#work = work
  }

  /** Something of it is due, or may be. */
  wake(id: string, network: string): void {
    const busy = this.#busy.get(id)
    if (busy) busy.isWokenAgain = true
    else this.#enqueue({ id, network, isWokenAgain: false })
  }

  /** How many places nothing has. */
  places(): number {
    return this.#closed ? 0 : this.#work.concurrency - this.#busy.size
  }

  /**
   * Start as many of these as there are places for, and leave the rest to the worker that was woken for it. Returns how many.
   * None for a network that already has something waiting.
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

  /** Claim nothing more. Resolves when no claim is under way; what is claimed already may be. */
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
    this.#elsewhere.get(turn.network)?.delete(turn.id) // woken: into the first line
    const ofNetwork = line.get(turn.network) ?? new Map<string, Turn>()
    if (!ofNetwork.has(turn.id)) ofNetwork.set(turn.id, { ...turn, isWokenAgain: false })
    line.set(turn.network, ofNetwork)
    this.#turn()
  }

  #turn(): void {
    this.#claiming ??= Promise.resolve().then(() => this.#claimAll()) // what is woken in one go is claimed in one
  }

  async #claimAll(): Promise<void> {
    for (let turns = this.#take(); turns.length > 0; turns = this.#take()) {
      const claims = await this.#claim(turns)
      for (const turn of turns) this.#receive(turn, claims.get(turn.id) ?? 'nothing')
    }
    this.#claiming = null
  }

  // As long as there is room.
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

  // The oldest turn of the network that has the fewest places; of several, of the one that was given none for longest.
  #next(line: Line): Turn | undefined {
    const open = [...line].filter(([network, turns]) => turns.size > 0 && this.#hasRoom(network))
    const [fewest] = open.sort(([a], [b]) => this.#runningOn(a) - this.#runningOn(b))
    if (!fewest) return
    const [network, turns] = fewest
    const [turn] = turns.values()
    turns.delete(turn!.id)
    line.delete(network) // and to the end
    line.set(network, turns)
    return turn
  }

  #runningOn(network: string): number {
    return this.#running.get(network) ?? 0
  }

  #hasRoom(network: string): boolean {
    return this.#busy.size < this.#work.concurrency && this.#roomOn(network) > 0
  }

  // Half, rounded up: jobs/ledger/claim.ts reckons with it (mostAtOnce).
  #roomOn(network: string): number {
    return this.#full.has(network) ? 0 : Math.ceil(this.#work.concurrency / 2) - this.#runningOn(network)
  }

  async #claim(turns: Turn[]): Promise<Map<string, C | NotClaimed>> {
    try {
      return await this.#work.claim(turns.map(({ id }) => id))
    } catch (error) {
      this.#work.log.warn({ err: error }, 'nothing could be claimed; it is tried again')
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

  // All of it waits in line, and none of it asks for a place meanwhile.
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
