/** Counts open watches: they have a seat only while they start, so their number has a limit of its own. */
export class OpenWatches {
  readonly #most: number
  readonly #mostPerUser: number
  readonly #byUser = new Map<string, number>()
  #open = 0

  constructor({ most, mostPerUser }: { readonly most: number; readonly mostPerUser: number }) {
    this.#most = most
    this.#mostPerUser = mostPerUser
  }

  /** False when there are too many. Otherwise the watch must `close`. */
  open(user: string): boolean {
    const own = this.#byUser.get(user) ?? 0
    if (this.#open >= this.#most || own >= this.#mostPerUser) return false
    this.#open++
    this.#byUser.set(user, own + 1)
    return true
  }

  close(user: string): void {
    this.#open--
    const left = this.#byUser.get(user)! - 1
    if (left > 0) this.#byUser.set(user, left)
    else this.#byUser.delete(user)
  }
}
