import { write, writeSync } from 'node:fs'

const WaitingAtMost = 4 * 1024 * 1024 // characters: a few seconds of a busy process
const FailedAgainMs = 1000
const FullAgainMs = 50 // a pipe whose reader is slow
const LastTryMs = 500
const InFlightMs = 50
const SlowReader = 'the reader is too slow'

/**
 * Writes lines to the file descriptor `fd` in the background and in order. It handles a full disk, and a reader that is
 * gone or does not read.
 *
 * `write` never throws and never waits. Up to 4 MiB wait to be written; we drop and count lines beyond that. We call
 * `onGap` with their number and the reason as soon as there is room. At the process's end, we write the rest for 0.5 s.
 */
export class LogSink {
  readonly #fd: number
  readonly #onGap: (dropped: number, reason: string) => void
  #waiting: string[] = []
  #size = 0 // of everything that is not written yet
  #chunk: Buffer | null = null // we are writing it, or will retry
  #chunkSize = 0
  #isInFlight = false
  #reason = SlowReader
  #gap = 0
  /** How many lines were dropped so far. */
  dropped = 0

  constructor(fd: number, onGap: (dropped: number, reason: string) => void) {
    this.#fd = fd
    this.#onGap = onGap
    if (fd === 1) void process.stdout // once opened, a pipe returns EAGAIN instead of blocking
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

  // libuv writes a chunk in flight before the process exits. On a full pipe, the end of the chunk is lost.
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
