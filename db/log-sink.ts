import { write, writeSync } from 'node:fs'

const WaitingAtMost = 4 * 1024 * 1024 // characters: some seconds of a busy process
const FailedAgainMs = 1000
const FullAgainMs = 50 // a pipe whose reader is slow
const LastTryMs = 500
const InFlightMs = 50
const SlowReader = 'the reader is too slow'

/**
 * Writes lines to the file descriptor `fd` in the background, in order, whatever happens behind it: a full disk, a reader
 * that is gone or does not read.
 *
 * `write` never throws and never waits. Up to 4 MiB wait to be written; lines beyond that are dropped and counted. `onGap`
 * hears how many were dropped, and why, as soon as there is room again. What waits at the process's end is tried for half a second.
 */
export class LogSink {
  readonly #fd: number
  readonly #onGap: (dropped: number, reason: string) => void
  #waiting: string[] = []
  #size = 0 // of all that is not written yet
  #chunk: Buffer | null = null // what is being written, or is tried again
  #chunkSize = 0
  #isInFlight = false
  #reason = SlowReader
  #gap = 0
  /** How many lines were dropped so far. */
  dropped = 0

  constructor(fd: number, onGap: (dropped: number, reason: string) => void) {
    this.#fd = fd
    this.#onGap = onGap
    if (fd === 1) void process.stdout // once opened, a pipe answers EAGAIN instead of blocking
    process.once('exit', () => this.#writeRest())
  }

  write(line: string): void {
    if (this.#size + line.length > WaitingAtMost) {
      this.dropped++
      this.#gap++
      return
    }
    this.#waiting.push(line)
    this.#size += line.length
    if (!this.#chunk) this.#writeNext()
  }

  #writeNext(): void {
    const text = this.#waiting.join('')
    this.#waiting = []
    this.#chunkSize = text.length
    this.#writeOut(Buffer.from(text))
  }

  #writeOut(chunk: Buffer): void {
    this.#chunk = chunk
    this.#isInFlight = true
    write(this.#fd, chunk, 0, chunk.length, null, (error, written) => {
      this.#isInFlight = false
      if (error) this.#tryAgain(error, chunk)
      else if (written < chunk.length) this.#writeOut(chunk.subarray(written))
      else this.#goOn()
    })
  }

  #tryAgain({ code = 'unknown' }: NodeJS.ErrnoException, chunk: Buffer): void {
    const isFull = code === 'EAGAIN'
    if (!isFull) this.#reason = code
    setTimeout(() => this.#writeOut(chunk), isFull ? FullAgainMs : FailedAgainMs).unref()
  }

  #goOn(): void {
    this.#chunk = null
    this.#size -= this.#chunkSize
    const gap = this.#gap
    this.#gap = 0
    const reason = this.#reason
    this.#reason = SlowReader
    if (gap > 0) this.#onGap(gap, reason)
    if (this.#waiting.length > 0 && !this.#chunk) this.#writeNext()
  }

  // A chunk that is in flight is written by a thread of libuv before the process is gone; on a full pipe its end is lost.
  // The thread gets a moment to go first, so that lines stay in order.
  #writeRest(): void {
    if (this.#isInFlight && this.#waiting.length > 0) pause(InFlightMs)
    const begun = this.#chunk && !this.#isInFlight ? [this.#chunk] : []
    let rest = Buffer.concat([...begun, Buffer.from(this.#waiting.join(''))])
    for (const end = performance.now() + LastTryMs; rest.length > 0 && performance.now() < end; )
      try {
        rest = rest.subarray(writeSync(this.#fd, rest))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
        pause(10)
      }
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
