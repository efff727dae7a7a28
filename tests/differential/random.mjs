// Random numbers that follow from a seed, so that a run can be repeated.

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** A number from 0 up to, and without, `limit`. */
  below(limit) {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let bits = this.state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  /** True in one of `times` calls. */
  once(times) {
    return this.below(times) === 0;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** The text with up to three characters removed, repeated, or replaced by one of `alphabet`. */
  damaged(text, alphabet) {
    let characters = [...text];
    for (let i = this.below(3); i >= 0; --i) {
      const at = this.below(characters.length + 1);
      const other = this.once(3) && characters.length > 0 ? this.pick(characters) : this.pick([...alphabet]);
      characters.splice(at, this.below(2), ...(this.once(3) ? [] : [other]));
    }
    return characters.join("");
  }
}
