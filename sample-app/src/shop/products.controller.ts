import { Controller, Get, Param } from '@nestjs/common';
import { Page } from 'nestjs-analytics';
import { Catalogue, type Product } from './catalogue.js';

@Controller('products')
export class ProductsController {
  constructor(private readonly catalogue: Catalogue) {}

  // The visitor comes from the option `identity`. IP address, browser and URL come from the request.
  @Get(':slug')
  @Page({
    category: 'Products',
    name: ({ result }) => result.title,
    properties: ({ result: { title, price }, args: [slug] }) => ({
      title,
      price,
      path: `/products/${slug}`,
    }),
  })
  show(@Param('slug') slug: string): Product {
    return this.catalogue.find(slug);
  }
}
