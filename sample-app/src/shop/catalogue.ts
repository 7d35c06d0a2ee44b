import { Injectable, NotFoundException } from '@nestjs/common';

export interface Product {
  /** Identifies the product in URLs and orders. */
  slug: string;
  title: string;
  /** In euros. */
  price: number;
}

const PRODUCTS: readonly Product[] = [
  { slug: 'mug', title: 'Mug', price: 12.5 },
  { slug: 'notebook', title: 'Notebook', price: 8 },
  { slug: 'tent', title: 'Tent', price: 249 },
];

@Injectable()
export class Catalogue {
  find(slug: string): Product {
    const product = PRODUCTS.find((candidate) => candidate.slug === slug);
    if (product === undefined) {
      const known = PRODUCTS.map((candidate) => candidate.slug).join(', ');
      throw new NotFoundException(`There is no such product. The shop sells: ${known}.`);
    }
    return product;
  }
}
